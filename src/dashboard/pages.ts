/**
 * The pages of the views, and the forms that come back from them.
 *
 * @module
 */

import { InvalidInputError, PawlError, StoreError, WorkflowNotFoundError } from "../errors.ts";
import { distrust, type Ticket, ticketOf } from "./csrf.ts";
import { readForm } from "./form.ts";
import type { Html } from "./html.ts";
import { pageText } from "./layout.ts";
import { perform, preview, previewPage, resultPage } from "./list/bulk.ts";
import { bulkAction } from "./list/bulk_actions.ts";
import { listView } from "./list/page.ts";
import { queryOf } from "./list/query.ts";
import type { List } from "./list/read.ts";
import { overviewView } from "./overview/page.ts";
import { pageResponse, seeOther } from "./responses.ts";
import { rootOf, type ViewRoute, workflowHref } from "./routes.ts";
import * as troubles from "./troubles.ts";
import type { Desk, Frame, View } from "./view.ts";
import { act, draftIn } from "./workflow/act.ts";
import { ACTIONS } from "./workflow/actions.ts";
import { workflowView } from "./workflow/page.ts";

/** A request on its way to its answer. */
export interface Errand {
  /** The request. */
  readonly request: Request;
  /** What the pages work with. */
  readonly desk: Desk;
  /** Makes the answer to a request that cannot be granted. */
  readonly troubled: (trouble: troubles.Trouble) => Response;
}

/** The view of a route. */
export function viewFor(route: ViewRoute, { request, desk }: Errand): View {
  const { searchParams } = new URL(request.url);
  switch (route.kind) {
    case "overview":
      return overviewView(desk) as View;
    case "list":
      return listView(desk, queryOf(searchParams)) as View;
    case "workflow": {
      const done = ACTIONS.find((one) => one === searchParams.get("done")) ?? null;
      return workflowView(desk, route.id, {
        ...looksOf(searchParams),
        done,
        refusal: null,
        draft: null,
      }) as View;
    }
  }
}

/** How a workflow's page is to look. */
function looksOf(params: URLSearchParams): { isWhole: boolean; isShort: boolean } {
  return { isWhole: params.has("all"), isShort: params.get("waits") === "short" };
}

/** What a view that shows nothing is answered with. */
export function missingFor(route: ViewRoute): troubles.Trouble {
  return route.kind === "workflow"
    ? troubles.missingTrouble(route.id)
    : troubles.nowhereTrouble(false);
}

/** The page of a view. */
export async function getPage(route: ViewRoute, errand: Errand): Promise<Response> {
  const view = viewFor(route, errand);
  const data = await view.read({ before: null, fresh: true });
  if (data === null) return errand.troubled(missingFor(route));
  if (route.kind === "list") {
    const found = soleFind(data as List);
    if (found !== null) return seeOther(workflowHref(rootOf(route), found));
  }
  return viewPage(view, data, { route, errand });
}

/** A search for an id that finds nothing else goes straight to the workflow. */
function soleFind({ rows: [first, second], query }: List): string | null {
  return second === undefined && first !== undefined && first.id === query.search ? first.id : null;
}

function viewPage(
  view: View,
  data: unknown,
  { route, errand, status = 200 }: {
    readonly route: ViewRoute;
    readonly errand: Errand;
    readonly status?: number;
  },
): Response {
  const { request, desk } = errand;
  const ticket = desk.settings.actions ? ticketOf(request) : null;
  const frame = frameOf(desk, rootOf(route), ticket);
  const { title, body } = view.page(data, view.regions(data, frame), frame);
  const { search } = new URL(request.url);
  return framed({ title, body, live: livePath(route, search), route }, {
    errand,
    frame,
    ticket,
    status,
  });
}

function framed(
  { title, body, live, route }: {
    readonly title: string;
    readonly body: Html;
    readonly live: string | null;
    readonly route: ViewRoute;
  },
  { errand: { request, desk }, frame, ticket, status }: {
    readonly errand: Errand;
    readonly frame: Frame;
    readonly ticket: Ticket | null;
    readonly status: number;
  },
): Response {
  const text = pageText({
    siteTitle: desk.settings.title,
    title,
    root: frame.root,
    nav: route.kind === "overview" ? "overview" : "workflows",
    body,
    live,
    now: frame.now,
    store: desk.core.store.name,
    actions: desk.settings.actions,
    search: new URL(request.url).searchParams.get("q") ?? "",
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
async function trustedForm(
  { request, desk, troubled }: Errand,
): Promise<URLSearchParams | Response> {
  if (!desk.settings.actions) return troubled(troubles.readOnlyTrouble());
  const result = await readForm(request);
  if (result.kind === "refused") return troubled(troubles.formTrouble(result.status, result.why));
  const why = distrust(request, result.form);
  return why === null ? result.form : troubled(troubles.distrustTrouble(why));
}

/** Does what the form of a workflow's page asks for. */
export async function postWorkflow(
  route: Extract<ViewRoute, { kind: "workflow" }>,
  errand: Errand,
): Promise<Response> {
  const { desk } = errand;
  const form = await trustedForm(errand);
  if (form instanceof Response) return form;
  const row = await desk.core.store.get(route.id);
  if (row === null) return errand.troubled(missingFor(route));
  try {
    const action = await act(desk, row, form);
    return seeOther(`${encodeURIComponent(route.id)}?done=${action}`);
  } catch (thrown) {
    const isRefusal = thrown instanceof PawlError && !(thrown instanceof StoreError) &&
      !(thrown instanceof WorkflowNotFoundError);
    if (!isRefusal) throw thrown;
    const view = workflowView(desk, route.id, {
      ...looksOf(new URL(errand.request.url).searchParams),
      done: null,
      refusal: desk.values.text(thrown.message),
      draft: draftIn(form),
    });
    const data = await view.read({ before: null, fresh: true });
    if (data === null) return errand.troubled(missingFor(route));
    const status = thrown instanceof InvalidInputError ? 400 : 409;
    return viewPage(view as View, data, { route, errand, status });
  }
}

/** Shows what a bulk action would do, or does it. */
export async function bulkPage(errand: Errand): Promise<Response> {
  const { request, desk, troubled } = errand;
  if (!desk.settings.actions) return troubled(troubles.readOnlyTrouble());
  const isDeed = request.method === "POST";
  const form = isDeed ? await trustedForm(errand) : new URL(request.url).searchParams;
  if (form instanceof Response) return form;
  const action = bulkAction(form.get("action"));
  if (action === null) return troubled(troubles.nowhereTrouble(false));
  const query = queryOf(form);
  const ticket = ticketOf(request);
  const frame = { ...frameOf(desk, "./", ticket), token: ticket.token };
  const before = new Date(Number(form.get("before") ?? NaN));
  if (isDeed && Number.isNaN(before.getTime())) {
    return troubled(troubles.formTrouble(400, "It does not say when its preview was made."));
  }
  const parts = { query, action, frame, before: isDeed ? before : frame.now };
  const body = isDeed
    ? resultPage(await perform(desk, query, { action, before }), parts)
    : previewPage(await preview(desk, query, action), parts);
  const title = `${action.word} many`;
  return framed({ title, body, live: null, route: { kind: "list" } }, {
    errand,
    frame,
    ticket,
    status: 200,
  });
}
