/**
 * `pawl dashboard`: the dashboard on this machine, until Ctrl-C.
 *
 * It listens on the loopback interface only: whoever wants to offer it to others mounts it in an
 * application that knows who they are.
 *
 * @module
 */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Dashboard, dashboard, toNodeListener } from "../../dashboard/mod.ts";
import { InvalidInputError } from "../../errors.ts";
import { coreOfEngine } from "../../run/engine.ts";
import { toError } from "../../state/stored_error.ts";
import { isGiven, textOf, wordsOf } from "../args.ts";
import { type Command, type Context, DONE, MODULE_OPTION } from "../command.ts";
import { UsageError } from "../usage.ts";

/** Serves the dashboard. */
export const dashboardCommand: Command = {
  name: "dashboard",
  summary: "see the workflows in a browser, until Ctrl-C",
  words: "",
  count: [0, 0],
  options: {
    port: { value: "N", about: "where it listens on this machine, 8123 by default; 0: anywhere" },
    actions: { about: "let it pause, resume, skip, cancel and signal; it only looks by default" },
    redact: { value: "A,B", about: "names of fields to mask, beside such as password and token" },
    title: { value: "TEXT", about: "what the pages are called" },
    ...MODULE_OPTION,
  },
  about: [
    "It answers this machine only. With the module that has the workflows it also shows their steps, " +
    "what the deploy gate says, and can resume and skip.",
  ],
  shape: `{ "url": "http://127.0.0.1:8123/" }`,
  examples: [
    ["pawl dashboard", "look at the workflows"],
    ["pawl dashboard --actions --module ./workflows.ts", "and act on them"],
    ["pawl dashboard --port 9000 --redact iban,email", "without some fields, at another port"],
  ],
  run,
};

const HOST = "127.0.0.1";
const DEFAULT_PORT = 8123;

async function run(context: Context): Promise<number> {
  const port = portOf(context);
  const redact = wordsOf(context, "redact") ?? [];
  const title = textOf(context, "title");
  return await context.withEngine({ module: "welcome" }, async (engine) => {
    const { store, clock } = coreOfEngine(engine);
    // A database without tables is told now and not in the browser.
    await store.due({ before: new Date(clock.now()), limit: 1 });
    const handler = dashboard(engine, {
      actions: isGiven(context, "actions"),
      redact,
      ...(title === undefined ? {} : { title }),
    });
    const server = createServer(toNodeListener(handler));
    const url = `http://${HOST}:${await listen(server, port)}/`;
    if (context.json) context.print(JSON.stringify({ url }));
    else context.print(`The dashboard is at ${url} (Ctrl-C ends it)`);
    await untilStopped(context);
    await close(server, handler);
    return DONE;
  });
}

function portOf(context: Context): number {
  const text = textOf(context, "port");
  if (text === undefined) return DEFAULT_PORT;
  const port = Number(text);
  if (/^\d+$/.test(text) && port < 65_536) return port;
  throw new UsageError(
    `Cannot use "${text}" as --port: it is not a port; use a whole number from 0 to 65535`,
    "dashboard",
  );
}

/** Answers the port that it listens on. */
async function listen(server: Server, port: number): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, HOST, resolve);
    });
  } catch (thrown) {
    throw new InvalidInputError(
      `Cannot listen on port ${port}: ${toError(thrown).message}; choose another with --port`,
      { cause: thrown },
    );
  }
  return (server.address() as AddressInfo).port;
}

function untilStopped({ io }: Context): Promise<void> {
  return new Promise((resolve) => {
    const off = io.onStop(() => {
      off();
      resolve();
    });
  });
}

async function close(server: Server, handler: Dashboard): Promise<void> {
  handler.close();
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  // Browsers keep connections open for a while after their last answer.
  server.closeAllConnections();
  await closed;
}
