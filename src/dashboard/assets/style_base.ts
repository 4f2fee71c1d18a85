/**
 * The style sheet: colours, type, the frame of a page.
 *
 * @module
 */

/** Colours for light and dark, and what every page has. */
export const STYLE_BASE: string = String.raw`
:root {
  color-scheme: light dark;
  --bg: #f5f6f8; --card: #ffffff; --sunk: #f0f2f5; --line: #dfe3e9; --strong-line: #c5ccd6;
  --text: #1a1f28; --quiet: #596373; --link: #1a5fcc; --focus: #1a5fcc;
  --ready: #1d5fc4; --ready-bg: #e6effc;
  --performing: #08707d; --performing-bg: #dcf3f5;
  --paused: #8f4f00; --paused-bg: #fdefd7;
  --finished: #1b6e38; --finished-bg: #e1f4e7;
  --canceled: #645b70; --canceled-bg: #eeebf1;
  --bad: #b1241c; --bad-bg: #fdeae8;
  --k-completed: #45a271; --k-skipped: #9fb0c6; --k-canceled: #a79db4; --k-reattempted: #e3a02b;
  --k-failed: #d0392f; --k-running: #18a0b1; --k-wait: #c9d1dc; --k-queued: #8fb4ea;
  --shadow: 0 1px 2px rgb(20 30 50 / 6%);
  --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --bg: #11141a; --card: #191e26; --sunk: #141920; --line: #2a313c; --strong-line: #3d4654;
    --text: #e5e9f0; --quiet: #9ba6b6; --link: #84b4ff; --focus: #84b4ff;
    --ready: #8ab8ff; --ready-bg: #1a2b47;
    --performing: #55d3df; --performing-bg: #10343a;
    --paused: #f3b962; --paused-bg: #3b2a10;
    --finished: #74d394; --finished-bg: #14351f;
    --canceled: #bab0c8; --canceled-bg: #2c2735;
    --bad: #ff8f86; --bad-bg: #43201e;
    --k-completed: #3f9e6d; --k-skipped: #64758c; --k-canceled: #7d7390; --k-reattempted: #d1942b;
    --k-failed: #e0554b; --k-running: #2bb3c2; --k-wait: #3a4452; --k-queued: #4f7cba;
    --shadow: none;
  }
}
@view-transition { navigation: auto; }
* { box-sizing: border-box; }
html { overflow-y: scroll; -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--bg); color: var(--text);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
a { color: var(--link); text-underline-offset: 2px; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
main:focus { outline: none; }
h1 { font-size: 20px; line-height: 1.3; margin: 0; }
h2 { font-size: 14px; line-height: 1.4; margin: 0; }
h3 { font-size: 12px; margin: 12px 0 4px; color: var(--quiet); font-weight: 600; }
p { margin: 0; }
code, pre { font-family: var(--mono); font-size: 0.92em; }
pre { margin: 0; white-space: pre-wrap; }
ul, ol, dl, dd, figure { margin: 0; padding: 0; list-style: none; }
.sr {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap;
}
.skip { position: absolute; left: 12px; top: -60px; z-index: 10; padding: 8px 12px;
  background: var(--card); border: 1px solid var(--line); border-radius: 6px; }
.skip:focus { top: 8px; }
.quiet { color: var(--quiet); }
.zero { color: var(--quiet); }
.id { font-family: var(--mono); font-weight: 400; color: var(--quiet); font-size: 0.88em; }
.top {
  display: flex; align-items: center; gap: 8px 20px; flex-wrap: wrap; padding: 10px 20px;
  background: var(--card); border-bottom: 1px solid var(--line); position: sticky; top: 0; z-index: 5;
}
.brand { display: flex; align-items: center; gap: 8px; font-weight: 700; font-size: 15px;
  color: inherit; text-decoration: none; }
.logo { fill: none; stroke: var(--link); stroke-width: 2.2; stroke-linecap: round; stroke-linejoin: round; }
.logo-hub { fill: var(--link); stroke: none; }
.logo-wheel { stroke-dasharray: 3.2 1.5; }
.top nav { display: flex; gap: 4px; }
.top nav a { padding: 5px 10px; border-radius: 6px; text-decoration: none; color: var(--quiet);
  font-weight: 550; }
.top nav a:hover { background: var(--sunk); color: var(--text); }
.top nav a[aria-current] { background: var(--ready-bg); color: var(--ready); }
.search { position: relative; margin-left: auto; }
.search input { width: 230px; padding-right: 30px; }
.search kbd { position: absolute; right: 8px; top: 50%; transform: translateY(-50%); font: 11px var(--mono);
  color: var(--quiet); border: 1px solid var(--line); border-radius: 4px; padding: 0 5px; pointer-events: none; }
.search input:focus + kbd { visibility: hidden; }
.live { display: inline-flex; align-items: center; gap: 7px; min-width: 88px; justify-content: center; }
.pulse { width: 8px; height: 8px; border-radius: 50%; background: var(--strong-line); }
.live[data-state="live"] .pulse { background: var(--k-completed); animation: pulse 2s infinite; }
.live[data-state="lost"] .pulse { background: var(--k-failed); }
@keyframes pulse { 0% { box-shadow: 0 0 0 0 rgb(69 162 113 / 45%); } 70%, 100% { box-shadow: 0 0 0 7px transparent; } }
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
main { max-width: 1320px; margin: 0 auto; padding: 18px 20px 8px; }
main, .wide, .narrow { display: flex; flex-direction: column; gap: 14px; min-width: 0; }
[data-region]:not(:has(*)) { display: none; }
.home { text-align: center; }
.bottom { display: flex; flex-wrap: wrap; gap: 4px 22px; max-width: 1320px; margin: 0 auto;
  padding: 14px 20px 28px; color: var(--quiet); font-size: 12.5px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px;
  box-shadow: var(--shadow); }
.card-head { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between;
  gap: 4px 16px; margin-bottom: 10px; }
.flush { padding-left: 0; padding-right: 0; padding-bottom: 0; overflow: clip; }
.flush > .card-head, .flush > .more { padding: 0 16px; }
.flush > table:first-child { margin-top: -14px; }
button, .button, input, select, textarea {
  font: inherit; color: inherit; border-radius: 6px; border: 1px solid var(--strong-line);
  background: var(--card); padding: 5px 10px;
}
button, .button { cursor: pointer; font-weight: 550; text-decoration: none; display: inline-block; }
button:hover, .button:hover { background: var(--sunk); }
input, select, textarea { width: 100%; background: var(--bg); }
input[type="checkbox"] { width: auto; margin: 0; accent-color: var(--link); }
.button.off, button:disabled { color: var(--quiet); background: var(--sunk); border-color: var(--line);
  cursor: default; }
.tag { font-size: 11.5px; padding: 0 6px; border: 1px solid var(--line); border-radius: 4px; color: var(--quiet);
  white-space: nowrap; }
#tip { position: fixed; z-index: 20; max-width: min(360px, 90vw); padding: 6px 10px; border-radius: 6px;
  background: #1d232d; color: #f2f5f9; font-size: 12.5px; white-space: pre-line; pointer-events: none;
  box-shadow: 0 4px 14px rgb(0 0 0 / 25%); }
#tip[hidden] { display: none; }
@media (max-width: 720px) {
  .top { padding: 8px 12px; position: static; }
  main { padding: 12px 12px 4px; }
  .bottom { padding: 12px 12px 24px; }
  .search { order: 5; flex: 1 1 200px; margin: 0; }
  .search input { width: 100%; }
  .live { order: 6; }
  .card { padding: 12px; }
  .flush { padding-left: 0; padding-right: 0; padding-bottom: 0; }
}
`;
