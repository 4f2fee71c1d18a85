/**
 * The dashboard: a web page that answers what runs, what is stuck, why, since when, and what happens
 * if one presses this. It is a function from a request to a response, without dependencies and
 * without a build step, for any server and under any path.
 *
 * @example On this machine only, and only to look
 * ```ts
 * import { createEngine } from "@pawl/pawl";
 * import { dashboard } from "@pawl/pawl/dashboard";
 * import { memoryStore } from "@pawl/pawl/memory";
 *
 * const engine = createEngine({ store: memoryStore(), workflows: [] });
 * const handler = dashboard(engine); // Deno.serve({ hostname: "127.0.0.1", port: 8080 }, handler)
 * const page = await handler(new Request("http://localhost:8080/"));
 * console.assert(page.status === 200);
 * handler.close();
 * await engine.close();
 * ```
 *
 * @example For operators, who may also act
 * ```ts ignore
 * const handler = dashboard(engine, {
 *   basePath: "/ops",
 *   actions: true,
 *   authorize: async (request) => await isOperator(request),
 *   redact: ["cardNumber", "iban"],
 * });
 * ```
 *
 * @module
 */

import { coreOfEngine, type Engine } from "../run/engine.ts";
import { createHandler } from "./handler.ts";
import { createReasons } from "./list/reasons.ts";
import { type DashboardOptions, settingsOf } from "./options.ts";
import { createOverviewReadings } from "./overview/read.ts";
import { createRedactor } from "../observe/redact.ts";
import { createValueReader } from "./values.ts";

export type { Authorization, DashboardOptions } from "./options.ts";
export { type FetchHandler, type NodeListener, toNodeListener } from "./node.ts";
export type { Engine } from "../run/engine.ts";

/** Answers requests; a handler for `Deno.serve`, Hono, Bun and, with `toNodeListener`, node:http. */
export interface Dashboard {
  /**
   * Answers a request. `connection` is what `Deno.serve` passes as its second argument: it tells
   * where a request came from, as far as that is known.
   */
  (request: Request, connection?: unknown): Promise<Response>;
  /** Ends the streams of all open pages, which would keep a server from shutting down. */
  close(): void;
  /** How many open pages renew themselves. */
  readonly openPages: number;
}

/**
 * Makes a dashboard of an engine.
 *
 * @param engine The engine whose workflows it shows; without definitions it can still look, pause
 * and cancel.
 * @param options Who may see it, and whether it may act; by default nobody but this machine, and no.
 * @returns The handler; closing it does not close the engine.
 * @throws {StepConfigurationError} When an option is unknown.
 * @throws {InvalidInputError} When an option is not valid.
 */
export function dashboard(engine: Engine, options: DashboardOptions = {}): Dashboard {
  const core = coreOfEngine(engine);
  const settings = settingsOf(options);
  const inside = createHandler({
    engine,
    core,
    settings,
    values: createValueReader(
      core.codec,
      createRedactor([...core.redactor?.names ?? [], ...settings.redact]),
    ),
    readings: createOverviewReadings(engine, settings.refreshMs),
    reasons: createReasons(core.store),
  });
  const handler = (request: Request, connection?: unknown): Promise<Response> =>
    inside.handle(request, connection);
  return Object.defineProperties(handler, {
    close: { value: () => inside.streams.close() },
    openPages: { get: () => inside.streams.size },
  }) as Dashboard;
}
