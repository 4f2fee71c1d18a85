/**
 * The handler: who may ask, what is asked for, and the answer.
 *
 * @module
 */

import { WorkflowNotFoundError } from "../errors.ts";
import { toError } from "../state/stored_error.ts";
import { assetResponse, STYLE } from "./assets/mod.ts";
import { ticketOf } from "./csrf.ts";
import { admit } from "./guard.ts";
import { bareText } from "./layout.ts";
import { createStreams, type Streams } from "./live.ts";
import { bulkPage, type Errand, getPage, missingFor, postWorkflow, viewFor } from "./pages.ts";
import { jsonResponse, pageResponse, respond, withoutBody } from "./responses.ts";
import { methodsOf, rootOf, type Route, routeOf } from "./routes.ts";
import * as troubles from "./troubles.ts";
import type { Desk } from "./view.ts";

/** The inside of a dashboard: answers requests until it is closed. */
export interface Inside {
  /** Answers a request. */
  handle(request: Request, connection: unknown): Promise<Response>;
  /** The open streams. */
  readonly streams: Streams;
}

/** Makes the handler of a desk. */
export function createHandler(desk: Desk): Inside {
  const { core, settings } = desk;
  const streams = createStreams({
    clock: core.clock,
    refreshMs: settings.refreshMs,
    onError: (error) => core.log.warn("The dashboard cannot read", { error }),
  });
  return {
    streams,
    async handle(request, connection) {
      const response = await answer(request, connection, { desk, streams });
      return request.method === "HEAD" ? await withoutBody(response) : response;
    },
  };
}

/** Everything that a request goes through; whatever goes wrong on the way becomes a page. */
async function answer(
  request: Request,
  connection: unknown,
  { desk, streams }: { readonly desk: Desk; readonly streams: Streams },
): Promise<Response> {
  const { pathname } = new URL(request.url);
  const { basePath } = desk.settings;
  const route = routeOf(pathname, basePath);
  const troubled = (trouble: troubles.Trouble): Response => troubleResponse(trouble, desk, route);
  try {
    const admission = await admit(request, connection, desk.settings);
    if (admission.kind === "answered") return admission.response;
    if (admission.kind === "refused") return troubled(troubles.refusedTrouble());
    if (admission.kind === "stranger") return troubled(troubles.strangerTrouble(admission.why));
    if (route === null) return troubled(troubles.nowhereTrouble(basePath === null));
    const methods = methodsOf(route);
    if (!methods.includes(request.method)) {
      const response = troubled(troubles.methodTrouble(request.method, methods));
      response.headers.set("allow", methods.join(", "));
      return response;
    }
    return await dispatch(route, { request, desk, troubled }, streams);
  } catch (thrown) {
    const error = toError(thrown);
    if (error instanceof WorkflowNotFoundError) {
      return troubled(troubles.missingTrouble(error.workflowId));
    }
    desk.core.log.error("The dashboard cannot answer", { path: pathname, error });
    return troubled(troubles.errorTrouble(error, desk.values.text));
  }
}

async function dispatch(route: Route, errand: Errand, streams: Streams): Promise<Response> {
  const { request, desk, troubled } = errand;
  switch (route.kind) {
    case "asset":
      return assetResponse(route.name) ?? troubled(troubles.nowhereTrouble(false));
    case "slash":
      return respond(null, { status: 308, headers: { location: route.to } });
    case "page":
      return request.method === "POST" && route.view.kind === "workflow"
        ? await postWorkflow(route.view, errand)
        : await getPage(route.view, errand);
    case "json": {
      const view = viewFor(route.view, errand);
      const data = await view.read({ before: null, fresh: false });
      return data === null ? troubled(missingFor(route.view)) : jsonResponse(view.json(data));
    }
    case "live": {
      const token = desk.settings.actions ? ticketOf(request).token : null;
      return streams.open(viewFor(route.view, errand), { root: rootOf(route.view), token });
    }
    case "bulk":
      return await bulkPage(errand);
  }
}

/** A page that says what is wrong; for machines the same in short. */
function troubleResponse(
  { status, title, body }: troubles.Trouble,
  desk: Desk,
  route: Route | null,
): Response {
  if (route?.kind === "json" || route?.kind === "live") {
    return jsonResponse({ error: { status, message: title } }, status);
  }
  const home = route?.kind === "page" || route?.kind === "bulk"
    ? route.kind === "page" ? rootOf(route.view) : "./"
    : desk.settings.basePath === null
    ? null
    : `${desk.settings.basePath}/`;
  const text = bareText({
    siteTitle: desk.settings.title,
    title,
    body,
    home: status === 403 ? null : home,
  });
  return pageResponse(text, { status, styleHash: STYLE.sha256 });
}
