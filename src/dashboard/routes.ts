/**
 * From a path to what is asked for. Pages link to each other with relative addresses, so that the
 * same page works wherever it is mounted, and also where a framework hides the mount path from it.
 *
 * @module
 */

/** The views: what a page shows, what its stream sends and what its JSON holds. */
export type ViewRoute =
  | { readonly kind: "overview" }
  | { readonly kind: "list" }
  | { readonly kind: "workflow"; readonly id: string };

/** What can be asked for. */
export type Route =
  | { readonly kind: "page"; readonly view: ViewRoute }
  | { readonly kind: "live"; readonly view: ViewRoute }
  | { readonly kind: "json"; readonly view: ViewRoute }
  | { readonly kind: "bulk" }
  | { readonly kind: "asset"; readonly name: string }
  /** The mount path without the slash that relative addresses need. */
  | { readonly kind: "slash"; readonly to: string };

/** The methods that a route answers: a workflow's page and the one of many also take forms. */
export function methodsOf(route: Route): readonly string[] {
  const takesForms = route.kind === "bulk" ||
    (route.kind === "page" && route.view.kind === "workflow");
  return takesForms ? ["GET", "HEAD", "POST"] : ["GET", "HEAD"];
}

/** The route of a path, or null when there is none. */
export function routeOf(pathname: string, basePath: string | null): Route | null {
  if (basePath === null) return anywhere(pathname);
  if (pathname === basePath && basePath !== "") {
    return { kind: "slash", to: `${basePath.split("/").at(-1)}/` };
  }
  // A framework may have cut the mount path off already.
  const rest = pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : pathname;
  return rest === "/" ? OVERVIEW : known(segmentsOf(rest));
}

const OVERVIEW: Route = { kind: "page", view: { kind: "overview" } };

/** Under an unknown mount path: the longest tail that is a page of ours, or a folder. */
function anywhere(pathname: string): Route | null {
  const segments = segmentsOf(pathname);
  for (let at = Math.max(0, segments.length - LONGEST); at < segments.length; at++) {
    const route = known(segments.slice(at));
    if (route !== null) return route;
  }
  return pathname.endsWith("/") ? OVERVIEW : null;
}

const LONGEST = 3;

function segmentsOf(path: string): string[] {
  return path.replace(/^\//, "").split("/");
}

function known(segments: readonly string[]): Route | null {
  const [first, second, third, ...others] = segments;
  if (others.length > 0) return null;
  if (first === "live" || first === "json") {
    const view = viewOf(second, third);
    return view === null ? null : { kind: first === "live" ? "live" : "json", view };
  }
  if (first === "assets" && second !== undefined && third === undefined) {
    return { kind: "asset", name: second };
  }
  if (first === "bulk" && second === undefined) return { kind: "bulk" };
  const view = third === undefined && first === "workflows" ? viewOf(first, second) : null;
  return view === null ? null : { kind: "page", view };
}

function viewOf(first: string | undefined, second: string | undefined): ViewRoute | null {
  if (first === "overview" && second === undefined) return { kind: "overview" };
  if (first !== "workflows") return null;
  if (second === undefined) return { kind: "list" };
  const id = idOf(second);
  return id === null ? null : { kind: "workflow", id };
}

/** Words of our own paths: no store makes such ids, and a mount path may be called so. */
const OWN = new Set(["overview", "workflows", "bulk", "live", "json", "assets"]);

function idOf(segment: string): string | null {
  if (segment === "" || OWN.has(segment)) return null;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/** The relative address of the mount path, as seen from a page. */
export function rootOf(view: ViewRoute): string {
  return view.kind === "workflow" ? "../" : "./";
}

/** The relative address of a workflow's page. */
export function workflowHref(root: string, id: string): string {
  return `${root}workflows/${encodeURIComponent(id)}`;
}
