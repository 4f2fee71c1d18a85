/**
 * The pages that say what is wrong, and what to do about it.
 *
 * @module
 */

import { MigrationError, PawlError, StoreError } from "../errors.ts";
import { type Html, html } from "./html.ts";
import { messagePage } from "./parts.ts";

/** A page that says what is wrong. */
export interface Trouble {
  /** The status of the response. */
  readonly status: number;
  /** The page's title. */
  readonly title: string;
  /** What is in it. */
  readonly body: Html;
}

function trouble(
  status: number,
  title: string,
  body: Html,
  tone: "bad" | "warn" = "warn",
): Trouble {
  return { status, title, body: messagePage(title, { tone, body }) };
}

/** For a request that nobody decides about. */
export function strangerTrouble(why: string): Trouble {
  return trouble(
    403,
    "This dashboard answers its own machine only",
    html`
      <p>The request was refused because ${why}.</p>
      <p>
        To open it to others, say who may see it. <code>authorize</code> is asked about every request
        and answers true, false, or a response of its own:
      </p>
      <pre>${AUTHORIZE}</pre>
    `,
  );
}

const AUTHORIZE = `dashboard(engine, {
  authorize: (request) => isOperator(request),
});`;

/** For a request that `authorize` refused. */
export function refusedTrouble(): Trouble {
  return trouble(
    403,
    "You may not see this",
    html`
      <p>
        The application refused this request. Log in with an account that may see its workflows, then
        come back.
      </p>
    `,
  );
}

/** For a request that changes something and may come from another site. */
export function distrustTrouble(why: string): Trouble {
  return trouble(
    403,
    "Nothing was done",
    html`
      <p>
        The request cannot be trusted: ${why}. Open the page again and use its own buttons; cookies
        must be allowed for this site.
      </p>
    `,
  );
}

/** For an action on a dashboard that only looks. */
export function readOnlyTrouble(): Trouble {
  return trouble(
    403,
    "This dashboard only looks",
    html`
      <p>
        Nothing was done. To act on workflows, make the dashboard with <code>actions: true</code>, or
        start it with <code>--actions</code>.
      </p>
    `,
  );
}

/** For a form that cannot be read. */
export function formTrouble(status: number, why: string): Trouble {
  return trouble(status, "Nothing was done", html`<p>The form cannot be read. ${why}</p>`);
}

/** For a path that is no page; `hint`: it may be the mount path itself. */
export function nowhereTrouble(hint: boolean): Trouble {
  const help = html`
    <p>
      If the dashboard is mounted at this very path, its overview has a slash at the end; or pass
      <code>basePath</code>, and it finds the slash by itself.
    </p>
  `;
  return trouble(404, "There is no such page", hint ? help : html`<p>Start from the overview.</p>`);
}

/** For an id that no workflow has. */
export function missingTrouble(id: string): Trouble {
  return trouble(
    404,
    "There is no such workflow",
    html`
      <p>
        No workflow has the id <b>${id}</b>. It may have ended and been deleted when its retention was
        over.
      </p>
    `,
  );
}

/** For a method that a page does not know. */
export function methodTrouble(method: string, allowed: readonly string[]): Trouble {
  return trouble(
    405,
    "That cannot be done here",
    html`<p>This page answers ${allowed.join(", ")}, not ${method}.</p>`,
  );
}

/** For an error while reading or writing. Only errors that are made to be read are shown. */
export function errorTrouble(error: Error, show: (text: string) => string): Trouble {
  if (error instanceof MigrationError) {
    return trouble(
      503,
      "The database is not ready",
      html`
        <p>${show(error.message)}</p>
        <p>
          <code>await engine.migrate()</code> or <code>pawl migrate</code> makes and updates the tables.
        </p>
      `,
      "bad",
    );
  }
  if (error instanceof StoreError) {
    return trouble(
      503,
      "The database does not answer",
      html`
        <p>${show(error.message)}</p>
        <p>
          Workers go on by themselves once it is back, and this page can be loaded again at any time.
        </p>
      `,
      "bad",
    );
  }
  const said = error instanceof PawlError
    ? show(error.message)
    : "The engine's log has the details.";
  return trouble(500, "Something went wrong", html`<p>${said}</p>`, "bad");
}
