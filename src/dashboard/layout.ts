/**
 * The frame around every page: head, navigation, search, footer.
 *
 * @module
 */

import { VERSION } from "../version.ts";
import { CLIENT, ICON, STYLE } from "./assets/mod.ts";
import { type Html, html, markupOf } from "./html.ts";
import type { Regions } from "./view.ts";

/** What a page is framed with. */
export interface PageParts {
  /** The dashboard's own title. */
  readonly siteTitle: string;
  /** The page's title. */
  readonly title: string;
  /** The relative address of the mount path. */
  readonly root: string;
  /** Which entry of the navigation the page belongs to. */
  readonly nav: "overview" | "workflows";
  /** What is in the page. */
  readonly body: Html;
  /** The address of the page's stream from the mount path; null: nothing on it changes. */
  readonly live: string | null;
  /** The present instant of the engine, which the client's clock is compared with. */
  readonly now: Date;
  /** The name of the store's driver. */
  readonly store: string;
  /** Whether workflows can be steered here. */
  readonly actions: boolean;
  /** What stands in the search field. */
  readonly search?: string;
}

/** The text of a whole page. */
export function pageText(parts: PageParts): string {
  const { siteTitle, title, root, body, now, live } = parts;
  const stream = live !== null && html`data-live="${root}${live}"`;
  const page = html`
    <html lang="en">
      <head>
        ${meta(`${title} · ${siteTitle}`)}
        <link rel="icon" href="${root}assets/${ICON.name}" type="image/svg+xml">
        <link rel="stylesheet" href="${root}assets/${STYLE.name}">
        <script type="module" src="${root}assets/${CLIENT.name}"></script>
      </head>
      <body data-now="${now.getTime()}" ${stream}>
        <a class="skip" href="#main">Skip to the content</a>
        ${header(parts)}
        <main id="main" tabindex="-1">${body}</main>
        ${footer(parts)}
        <div id="tip" role="tooltip" hidden></div>
      </body>
    </html>
  `;
  return `<!doctype html>${markupOf(page)}`;
}

/** What a page that stands alone is made of. */
export interface BareParts {
  /** The dashboard's own title. */
  readonly siteTitle: string;
  /** The page's title. */
  readonly title: string;
  /** What is in the page. */
  readonly body: Html;
  /** The relative address of the overview; null: unknown, or of no use. */
  readonly home: string | null;
}

/**
 * The text of a page that stands alone: for whoever may not load a style sheet, or stands at an
 * address from which nobody knows where it would be. Its style is in it, allowed by its hash.
 */
export function bareText({ siteTitle, title, body, home }: BareParts): string {
  const head = meta(`${title} · ${siteTitle}`);
  const page = html`
    <header class="top">
      <span class="brand">${logo()}<span>${siteTitle}</span></span>
    </header>
    <main id="main">
      ${body}
      ${home !== null && html`<p class="home"><a class="button" href="${home}">Overview</a></p>`}
    </main>
  `;
  return `<!doctype html><html lang="en"><head>${
    markupOf(head)
  }<style>${STYLE.text}</style></head>` +
    `<body>${markupOf(page)}</body></html>\n`;
}

function meta(title: string): Html {
  return html`
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex, nofollow">
    <title>${title}</title>
  `;
}

function logo(): Html {
  return html`
    <svg class="logo" width="22" height="22" viewBox="0 0 24 24" aria-hidden="true">
      <circle class="logo-wheel" cx="12" cy="14" r="7.5" />
      <path d="M20 3 L13.5 8.5 L17 11" />
      <circle class="logo-hub" cx="12" cy="14" r="2" />
    </svg>
  `;
}

function header({ siteTitle, root, nav, live, search }: PageParts): Html {
  const link = (to: string, name: string, isHere: boolean): Html =>
    html`<a href="${root}${to}" ${isHere && html`aria-current="page"`}>${name}</a>`;
  return html`
    <header class="top">
      <a class="brand" href="${root}">${logo()}<span>${siteTitle}</span></a>
      <nav aria-label="Main">
        ${link("", "Overview", nav === "overview")}
        ${link("workflows", "Workflows", nav === "workflows")}
      </nav>
      <form class="search" role="search" action="${root}workflows" method="get">
        <label class="sr" for="q">Find a workflow by its id or its hero</label>
        <input id="q" name="q" type="search" placeholder="Find by id or hero" autocomplete="off"
          spellcheck="false" maxlength="300" value="${search ?? ""}">
        <kbd aria-hidden="true">/</kbd>
      </form>
      ${live !== null && html`
        <button class="live" id="live" type="button" aria-pressed="true" data-state="connecting">
          <span class="pulse" aria-hidden="true"></span><span id="live-word">Live</span>
        </button>
      `}
    </header>
    <noscript>
      <p class="alert warn">
        Without JavaScript this page does not renew itself, and times are in UTC. Everything else works.
      </p>
    </noscript>
    <p id="trouble" class="alert bad" role="alert" hidden></p>
  `;
}

function footer({ store, actions }: PageParts): Html {
  return html`
    <footer class="bottom">
      <span>Pawl ${VERSION} on ${store}</span>
      <span>${actions ? "Actions are enabled" : "Read-only"}</span>
      <span>Times in <span id="zone">UTC</span></span>
    </footer>
  `;
}

/** An element whose content is sent again when it has changed. */
export function region(id: string, regions: Regions, label?: string): Html {
  const content = regions[id];
  return label === undefined
    ? html`<div id="${id}" data-region>${content}</div>`
    : html`<section id="${id}" data-region aria-label="${label}">${content}</section>`;
}
