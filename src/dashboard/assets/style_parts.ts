/**
 * The style sheet: chips, alerts, figures, charts, tables, filters.
 *
 * @module
 */

/** What the overview and the list are made of. */
export const STYLE_PARTS: string = String.raw`
.chip { display: inline-flex; align-items: center; gap: 5px; padding: 1px 9px; border-radius: 99px;
  font-size: 12.5px; font-weight: 600; white-space: nowrap; }
.chip > span { font-size: 9px; }
.c-ready { color: var(--ready); background: var(--ready-bg); }
.c-performing { color: var(--performing); background: var(--performing-bg); }
.c-paused { color: var(--paused); background: var(--paused-bg); }
.c-finished { color: var(--finished); background: var(--finished-bg); }
.c-canceled { color: var(--canceled); background: var(--canceled-bg); }
.alert { padding: 10px 14px; border-radius: 8px; border: 1px solid; }
.alert + .alert { margin-top: 8px; }
.alert.bad { color: var(--bad); background: var(--bad-bg); }
.alert.warn { color: var(--paused); background: var(--paused-bg); }
.alert.good { color: var(--finished); background: var(--finished-bg); }
.alert a { color: inherit; font-weight: 600; white-space: nowrap; }
.alert[hidden] { display: none; }
.top + .alert, .top + noscript + .alert { margin: 14px 20px 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; }
.figure { border-top: 3px solid var(--line); padding: 10px 14px 11px; }
.figure dt { color: var(--quiet); font-size: 12.5px; font-weight: 600; }
.figure .value { font-size: 24px; line-height: 1.35; font-weight: 650; letter-spacing: -0.01em; }
.figure .value a { color: inherit; text-decoration: none; }
.figure .value a:hover { text-decoration: underline; }
.figure .note { color: var(--quiet); font-size: 12.5px; min-height: 1.5em; }
.figure.t-ready { border-top-color: var(--ready); }
.figure.t-performing { border-top-color: var(--k-running); }
.figure.t-paused { border-top-color: var(--k-reattempted); }
.figure.t-paused .value { color: var(--paused); }
.figure.t-bad { border-top-color: var(--k-failed); }
.figure.t-bad .value { color: var(--bad); }
#activity { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: 12px; }
#activity .chart { margin: 0; }
.chart figcaption { display: grid; gap: 2px; margin-bottom: 8px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12.5px; color: var(--quiet); }
.legend b { color: var(--text); font-weight: 600; }
.key { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; }
.bars { display: block; overflow: visible; }
.bars .catch { fill: transparent; }
.bars .catch:hover { fill: var(--text); fill-opacity: 6%; }
.grid { stroke: var(--line); stroke-width: 1; shape-rendering: crispEdges; }
.tick-x, .tick-y { font-size: 11px; fill: var(--quiet); }
.tick-y { paint-order: stroke; stroke: var(--card); stroke-width: 3px; pointer-events: none; }
.k-completed { fill: var(--k-completed); background: var(--k-completed); }
.k-skipped { fill: var(--k-skipped); background: var(--k-skipped); }
.k-canceled { fill: var(--k-canceled); background: var(--k-canceled); }
.k-reattempted { fill: var(--k-reattempted); background: var(--k-reattempted); }
.k-failed { fill: var(--k-failed); background: var(--k-failed); }
.calm-line { display: flex; gap: 10px; align-items: center; }
.ok-mark { color: var(--finished); background: var(--finished-bg); border-radius: 50%; width: 24px; height: 24px;
  display: inline-flex; align-items: center; justify-content: center; flex: none; font-weight: 700; }
.groups > li { display: grid; grid-template-columns: 76px minmax(0, 1fr) 150px auto; gap: 6px 16px;
  align-items: center; padding: 10px 0; border-top: 1px solid var(--line); }
.group-count { display: flex; flex-direction: column; align-items: center; line-height: 1.2; padding: 5px 4px;
  border-radius: 7px; background: var(--bad-bg); color: var(--bad); text-decoration: none; font-size: 11.5px; }
.group-count b { font-size: 17px; }
.group-count:hover { outline: 1px solid; }
.group-error b { color: var(--bad); }
.group-when { font-size: 12.5px; display: grid; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; padding: 7px 10px; vertical-align: top; border-top: 1px solid var(--line); }
thead th { color: var(--quiet); font-size: 12.5px; font-weight: 600; border-top: 0; white-space: nowrap; }
tbody th { font-weight: 550; }
.num { text-align: right; white-space: nowrap; }
.scroll { overflow-x: auto; }
.when { white-space: nowrap; color: var(--quiet); }
.definitions th:first-child, .definitions td:first-child { padding-left: 0; }
.definitions th:last-child, .definitions td:last-child { padding-right: 0; }
.definitions .bar-head, .definitions .bar-cell { width: 34%; min-width: 120px; }
.bar-cell { vertical-align: middle; }
.state-bar { display: block; border-radius: 3px; overflow: hidden; }
.state-bar rect { stroke: var(--card); stroke-width: 1; }
.state-bar .empty { fill: var(--sunk); stroke: none; }
.s-ready { fill: #5b93e6; } .s-performing { fill: var(--k-running); } .s-paused { fill: var(--k-reattempted); }
.s-finished { fill: var(--k-completed); } .s-canceled { fill: var(--k-canceled); }
.n-ready { color: var(--ready); } .n-performing { color: var(--performing); } .n-paused { color: var(--paused); }
.n-finished { color: var(--finished); } .n-canceled { color: var(--canceled); }
.head-row { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 14px; }
.filters { display: grid; gap: 10px; }
.states { display: flex; flex-wrap: wrap; gap: 8px; border: 0; padding: 0; margin: 0; }
.states legend { float: left; margin-right: 10px; padding: 3px 0; color: var(--quiet); font-size: 12.5px;
  font-weight: 600; }
.state-box { display: inline-flex; gap: 6px; align-items: center; padding: 2px 11px 2px 8px; border-radius: 99px;
  font-weight: 600; font-size: 12.5px; cursor: pointer; }
.state-box:not(:has(:checked)) { background: var(--sunk); color: var(--quiet); }
.state-box:focus-within { outline: 2px solid var(--focus); outline-offset: 1px; }
.fields { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; }
.fields label, .action label { display: grid; gap: 3px; font-size: 12.5px; color: var(--quiet); font-weight: 600; }
.fields input, .fields select, .action input, .action textarea, .action select { font-size: 14px; font-weight: 400;
  color: var(--text); }
.filter-buttons { display: flex; gap: 14px; align-items: center; }
.pinned { font-size: 13px; }
.bulk-bar { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.bulk-bar .quiet { margin-right: 4px; }
@media (scripting: enabled) { .filter-buttons button { display: none; } }
.b-cancel:not(.off) { color: var(--bad); border-color: currentColor; }
button.b-resume, button.b-resumeAt, button.b-signal, button.b-skip, button.b-pause { background: var(--link);
  color: var(--card); border-color: transparent; }
button.b-cancel { background: var(--bad); color: var(--card); border-color: transparent; }
.workflows th:first-child, .workflows td:first-child, .executions th:first-child, .executions td:first-child {
  padding-left: 16px; }
.workflows .c-state { width: 128px; }
.workflows .id { display: block; }
.workflows .c-hero, .workflows tbody th { white-space: nowrap; }
.workflows tbody tr:hover { background: var(--sunk); }
.row-link { font-weight: 600; }
.reason { color: var(--bad); font-size: 12.5px; margin-top: 1px; }
.pager { display: flex; gap: 8px; margin-top: 14px; }
.empty-state { text-align: center; padding: 40px 20px; }
.empty-state h2 { font-size: 16px; margin-bottom: 6px; }
.empty-state p { color: var(--quiet); max-width: 560px; margin: 0 auto; }
.message { max-width: 720px; margin: 24px auto; padding: 24px 26px; display: grid; gap: 14px; border-top: 3px solid
  var(--line); }
.message.t-bad { border-top-color: var(--k-failed); } .message.t-warn { border-top-color: var(--k-reattempted); }
.message.t-calm { border-top-color: var(--k-completed); }
.message pre { background: var(--sunk); padding: 10px 12px; border-radius: 6px; }
.examples { display: grid; gap: 5px; }
.confirm { display: flex; flex-wrap: wrap; gap: 10px; }
@media (max-width: 720px) {
  .figures { grid-template-columns: repeat(2, 1fr); gap: 8px; }
  .groups > li { grid-template-columns: 64px minmax(0, 1fr); }
  .group-when { grid-column: 2; display: flex; flex-wrap: wrap; gap: 0 12px; } .group-example { grid-column: 2; }
  .workflows, .workflows tbody { display: block; }
  .workflows thead { display: none; }
  .workflows tr { display: flex; flex-wrap: wrap; gap: 3px 12px; padding: 9px 12px;
    border-top: 1px solid var(--line); }
  .workflows tr:first-child { border-top: 0; }
  .flush > .workflows { margin-top: -12px; }
  .workflows th, .workflows td { border: 0; padding: 0 !important; white-space: normal; }
  .workflows .c-state { width: auto; }
  .workflows .c-step { width: 100%; }
  .workflows td:nth-child(5)::before { content: "changed "; }
  .workflows td:nth-child(6)::before { content: "created "; }
  .definitions .bar-head, .definitions .bar-cell { display: none; }
  .definitions th, .definitions td { padding: 7px 6px; white-space: nowrap; }
}
`;
