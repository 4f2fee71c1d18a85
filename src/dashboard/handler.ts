/**
 * The handler: who may ask, what is asked for, and the answer.
 *
 * @module
 */

import { InvalidInputError, PawlError, StoreError, WorkflowNotFoundError } from "../errors.ts";
import { toError } from "../state/stored_error.ts";
import { assetResponse } from "./assets/mod.ts";
import { distrust, type Ticket, ticketOf } from "./csrf.ts";
import { readForm } from "./form.ts";
import { admit } from "./guard.ts";
import { pageText } from "./layout.ts";
import { perform, preview, previewPage, resultPage } from "./list/bulk.ts";
import { bulkAction } from "./list/bulk_actions.ts";
import { listView } from "./list/page.ts";
import { queryOf } from "./list/query.ts";
import { createStreams, type Streams } from "./live.ts";
import { overviewView } from "./overview/page.ts";
import { jsonResponse, pageResponse, respond, seeOther, withoutBody } from "./responses.ts";
import { METHODS, rootOf, type Route, routeOf, type ViewRoute, workflowHref } from "./routes.ts";
import * as troubles from "./troubles.ts";
import type { Desk, Frame, View } from "./view.ts";
import { act, draftIn } from "./workflow/act.ts";
import { ACTIONS } from "./workflow/actions.ts";
import { workflowView } from "./workflow/page.ts";

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

interface Office {
  readonly desk: Desk;
  readonly streams: Streams;
}

/** Everything that a request goes through; whatever goes wrong on the way becomes a page. */
async function answer(request: Request, connection: unknown, office: Office): Promise<Response> {
  const { desk } = office;
  const { pathname } = new URL(request.url);
  const route = routeOf(pathname, desk.settings.basePath);
  const isJson = route?.kind === "json" || route?.kind === "live";
  const troubled = (trouble: troubles.Trouble): Response => troublePage(trouble, { desk, route, isJson });
  try {
    const admission = await admit(request, connection, desk.settings);
    switch (admission.kind) {
      case "answered":
        return admission.response;
      case "refused":
        return troubled(troubles.refusedTrouble());
      case "stranger":
        return troubled(troubles.strangerTrouble(admission.why));
      case "admitted":
    }
    if (route === null) return troubled(troubles.nowhereTrouble(desk.settings.basePath === null));
    const allowed = METHODS[route.kind];
    const method = request.method === "HEAD" ? "GET" : request.method;
    if (!allowed.includes(method)) {
      const known = allowed.includes("GET") ? [...allowed, "HEAD"] : allowed;
      const response = troubled(troubles.methodTrouble(request.method, known));
      response.headers.set("allow", known.join(", "));
      return response;
    }
    return await dispatch(route, { request, office, troubled });
  } catch (thrown) {
    const error = toError(thrown);
    if (error instanceof WorkflowNotFoundError) {
      return troubled(troubles.missingTrouble(error.workflowId));
    }
    desk.core.log.error("The dashboard cannot answer", { path: pathname, error });
    return troubled(troubles.errorTrouble(error, desk.values.text));
  }
}

interface Errand {
  readonly request: Request;
  readonly office: Office;
  readonly troubled: (trouble: troubles.Trouble) => Response;
}

async function dispatch(route: Route, errand: Errand): Promise<Response> {
  const { request, office: { desk, streams } } = errand;
  switch (route.kind) {
    case "asset":
      return assetResponse(route.name) ?? errand.troubled(troubles.nowhereTrouble(false));
    case "slash":
      return respond(null, { status: 308, headers: { location: route.to } });
    case "page":
      return await page(route.view, errand);
    case "json": {
      const view = viewFor(route.view, request, desk);
      const data = await view.read({ before: null, fresh: false });
      return data === null
        ? errand.troubled(missing(route.view))
        : jsonResponse(view.json(data));
    }
    case "live": {
      const token = desk.settings.actions ? ticketOf(request).token : null;
      const frame = { root: rootOf(route.view), token };
      return streams.open(viewFor(route.view, request, desk), { signal: request.signal, frame });
    }
    case "act":
      return await act1(route.id, errand);
    case "bulk":
      return await bulk(errand);
  }
}

function missing(view: ViewRoute): troubles.Trouble {
  return view.kind === "workflow"
    ? troubles.missingTrouble(view.id)
    : troubles.nowhereTrouble(false);
}

function viewFor(route: ViewRoute, request: Request, desk: Desk): View {
  const { searchParams } = new URL(request.url);
  switch (route.kind) {
    case "overview":
      return overviewView(desk) as View;
    case "list":
      return listView(desk, queryOf(searchParams)) as View;
    case "workflow": {
      const done = ACTIONS.find((one) => one === searchParams.get("done")) ?? null;
      const isWhole = searchParams.has("all");
      return workflowView(desk, route.id, { isWhole, done, refusal: null, draft: null }) as View;
    }
  }
}

async function page(route: ViewRoute, errand: Errand): Promise<Response> {
  const { request, office: { desk } } = errand;
  const view = viewFor(route, request, desk);
  const data = await view.read({ before: null, fresh: true });
  if (data === null) return errand.troubled(missing(route));
  if (route.kind === "list") {
    const found = soleFind(data as { rows: { id: string }[]; query: { search: string | null } });
    if (found !== null) return seeOther(workflowHref(rootOf(route), found));
  }
  return viewPage(view, data, { route, request, desk, status: 200 });
}

/** A search for an id that finds nothing else goes straight to the workflow. */
function soleFind(
  { rows, query }: { rows: readonly { id: string }[]; query: { search: string | null } },
): string | null {
  const [first, second] = rows;
  return second === undefined && first !== undefined && first.id === query.search ? first.id : null;
}

function viewPage(
  view: View,
  data: unknown,
  { route, request, desk, status }: {
    readonly route: ViewRoute;
    readonly request: Request;
    readonly desk: Desk;
    readonly status: number;
  },
): Response {
  const ticket = desk.settings.actions ? ticketOf(request) : null;
  const frame = frameOf(desk, rootOf(route), ticket);
  const { title, body } = view.page(data, view.regions(data, frame), frame);
  const { search, searchParams } = new URL(request.url);
  const text = pageText({
    siteTitle: desk.settings.title,
    title,
    root: frame.root,
    nav: route.kind === "overview" ? "overview" : "workflows",
    body,
    live: livePath(route, search),
    now: frame.now,
    store: desk.core.store.name,
    actions: desk.settings.actions,
    search: searchParams.get("q") ?? "",
  });
  return pageResponse(text, { status, cookie: ticket?.cookie ?? null });
}

function frameOf(desk: Desk, root: string, ticket: Ticket | null): Frame {
  return { root, token: ticket?.token ?? null, now: desk.core.now() };
}

/** The address of a page's stream, from the mount path. */
function livePath(route: ViewRoute, search: string): string {
  switch (route.kind) {
    case "overview":
      return "live/overview";
    case "list":
      return `live/workflows${search}`;
    case "workflow":
      return `live/workflows/${encodeURIComponent(route.id)}${search}`;
  }
}

/** A form that may be trusted, or the answer to one that may not. */
async function trustedForm(errand: Errand): Promise<URLSearchParams | Response> {
  const { request, office: { desk }, troubled } = errand;
  if (!desk.settings.actions) return troubled(troubles.readOnlyTrouble());
  const result = await readForm(request);
  if (result.kind === "refused") return troubled(troubles.formTrouble(result.status, result.why));
  const why = distrust(request, result.form);
  return why === null ? result.form : troubled(troubles.distrustTrouble(why));
}

async function act1(id: string, errand: Errand): Promise<Response> {
  const { request, office: { desk } } = errand;
  const form = await trustedForm(errand);
  if (form instanceof Response) return form;
  const row = await desk.core.store.get(id);
  if (row === null) return errand.troubled(troubles.missingTrouble(id));
  try {
    const action = await act(desk, row, form);
    return seeOther(`../${encodeURIComponent(id)}?done=${action}`);
  } catch (thrown) {
    if (!(thrown instanceof PawlError) || thrown instanceof StoreError) throw thrown;
    if (thrown instanceof WorkflowNotFoundError) throw thrown;
    const view = workflowView(desk, id, {
      isWhole: false,
      done: null,
      refusal: desk.values.text(thrown.message),
      draft: draftIn(form),
    });
    const data = await view.read({ before: null, fresh: true });
    if (data === null) return errand.troubled(troubles.missingTrouble(id));
    const status = thrown instanceof InvalidInputError ? 400 : 409;
    return refusalPage(view as View, data, { id, request, desk, status });
  }
}

/** The page stands at the form's address, one level deeper than its own. */
function refusalPage(
  view: View,
  data: unknown,
  { id, request, desk, status }: {
    readonly id: string;
    readonly request: Request;
    readonly desk: Desk;
    readonly status: number;
  },
): Response {
  const ticket = ticketOf(request);
  const frame = frameOf(desk, "../../", ticket);
  const { title, body } = view.page(data, view.regions(data, frame), frame);
  const text = pageText({
    siteTitle: desk.settings.title,
    title,
    root: frame.root,
    nav: "workflows",
    body,
    live: null,
    now: frame.now,
    store: desk.core.store.name,
    actions: true,
    search: "",
    base: `../${encodeURIComponent(id)}`,
  });
  return pageResponse(text, { status, cookie: ticket.cookie });
}

async function bulk(errand: Errand): Promise<Response> {
  const { request, office: { desk }, troubled } = errand;
  if (!desk.settings.actions) return troubled(troubles.readOnlyTrouble());
  const form = request.method === "POST"
    ? await trustedForm(errand)
    : new URL(request.url).searchParams;
  if (form instanceof Response) return form;
  const action = bulkAction(form.get("action"));
  if (action === null) return troubled(troubles.nowhereTrouble(false));
  const query = queryOf(form);
  const ticket = ticketOf(request);
  const frame = { ...frameOf(desk, "./", ticket), token: ticket.token };
  const before = new Date(Number(form.get("before") ?? NaN));
  const isDeed = request.method === "POST";
  if (isDeed && Number.isNaN(before.getTime())) {
    return troubled(troubles.formTrouble(400, "It does not say when its preview was made."));
  }
  const body = isDeed
    ? resultPage(await perform(desk, query, { action, before }), { query, action, before, frame })
    : previewPage(await preview(desk, query, action), { query, action, frame });
  const text = pageText({
    siteTitle: desk.settings.title,
    title: `${action.word} many`,
    root: "./",
    nav: "workflows",
    body,
    live: null,
    now: frame.now,
    store: desk.core.store.name,
    actions: true,
  });
  return pageResponse(text, { cookie: ticket.cookie });
}

function troublePage(
  { status, title, body }: troubles.Trouble,
  { desk, route, isJson }: {
    readonly desk: Desk;
    readonly route: Route | null;
    readonly isJson: boolean;
  },
): Response {
  if (isJson) return jsonResponse({ error: { status, message: title } }, status);
  const root = route === null ? "" : rootOfRoute(route);
  const text = pageText({
    siteTitle: desk.settings.title,
    title,
    root,
    nav: null,
    body,
    live: null,
    now: desk.core.now(),
    store: desk.core.store.name,
    actions: false,
  });
  return pageResponse(text, { status });
}

function rootOfRoute(route: Route): string {
  if (route.kind === "page") return rootOf(route.view);
  if (route.kind === "act") return "../../";
  return route.kind === "asset" ? "../" : "./";
}
