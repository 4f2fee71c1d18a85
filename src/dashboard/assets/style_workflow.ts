/**
 * The style sheet: the page of one workflow.
 *
 * @module
 */

/** The timeline, the panels and the actions. */
export const STYLE_WORKFLOW: string = String.raw`
.crumbs { font-size: 12.5px; color: var(--quiet); }
.crumbs { margin-bottom: -10px; }
.identity { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 14px; }
.facts { display: flex; flex-wrap: wrap; gap: 2px 16px; color: var(--quiet); }
.headline { padding: 11px 16px; border-radius: 10px; background: var(--card); border: 1px solid var(--line);
  border-left: 4px solid var(--line); font-size: 15px; }
.headline.t-ready { border-left-color: var(--ready); }
.headline.t-performing { border-left-color: var(--k-running); }
.headline.t-paused { border-left-color: var(--k-reattempted); }
.headline.t-finished { border-left-color: var(--k-completed); }
.headline.t-canceled { border-left-color: var(--k-canceled); }
.headline.t-bad { border-left-color: var(--k-failed); background: var(--bad-bg); color: var(--bad); }
.columns { display: grid; grid-template-columns: minmax(0, 1fr) 330px; gap: 14px; align-items: start; }
.timeline .legend { margin-left: auto; }
.switch { font-size: 12.5px; white-space: nowrap; }
.axis svg { grid-column: 2; }
.lanes { display: grid; gap: 0; }
.lanes > li { display: grid; grid-template-columns: minmax(120px, 190px) minmax(0, 1fr) 84px; gap: 12px;
  align-items: center; }
.lane { border-top: 1px solid var(--line); min-height: 36px; }
.lane:hover { background: var(--sunk); }
.lane-name { display: grid; line-height: 1.3; padding: 4px 0; }
.lane-name .quiet { font-size: 12px; }
.lane-name a { color: inherit; text-decoration: none; }
.lane-name a:hover { text-decoration: underline; }
.lane-took { text-align: right; font-size: 12.5px; color: var(--quiet); white-space: nowrap; }
.lane-drawing, .axis svg { display: block; overflow: visible; }
.body { stroke-width: 2; stroke-linejoin: round; paint-order: stroke; }
.body:hover, .rest:hover { filter: brightness(1.12); }
.l-wait { fill: var(--k-wait); background: var(--k-wait); }
.l-future { fill: none; stroke: var(--k-wait); stroke-width: 1.5; stroke-dasharray: 3 3; background: none;
  box-shadow: inset 0 0 0 1.5px var(--k-wait); }
.l-queued { fill: var(--k-queued); background: var(--k-queued); }
.l-overdue { fill: var(--k-failed); background: var(--k-failed); fill-opacity: 0.75; }
.l-running { fill: var(--k-running); stroke: var(--k-running); background: var(--k-running); }
.l-success { fill: var(--k-completed); stroke: var(--k-completed); background: var(--k-completed); }
.l-continued { fill: #2f8a5b; stroke: var(--card); background: #2f8a5b; stroke-width: 1; }
.l-retried { fill: var(--k-reattempted); stroke: var(--k-reattempted); background: var(--k-reattempted); }
.l-failed { fill: var(--k-failed); stroke: var(--k-failed); background: var(--k-failed); }
.l-paused { fill: #c98a2a; stroke: #c98a2a; background: #c98a2a; }
.l-skipped { fill: var(--k-skipped); stroke: var(--k-skipped); background: var(--k-skipped); }
.l-canceled { fill: var(--k-canceled); stroke: var(--k-canceled); background: var(--k-canceled); }
.now { stroke: var(--text); stroke-width: 1; stroke-dasharray: 2 3; }
.now-text { font-size: 11px; font-weight: 600; fill: var(--text); }
.dot { display: inline-block; width: 9px; height: 9px; border-radius: 50%; margin-right: 3px; }
.dot.l-wait, .executions .dot { vertical-align: 0; }
.progress progress { width: 100%; height: 14px; appearance: none; border: 0; border-radius: 7px;
  background: var(--sunk); overflow: hidden; display: block; margin-bottom: 7px; }
.progress progress::-webkit-progress-bar { background: var(--sunk); border-radius: 7px; }
.progress progress::-webkit-progress-value { background: var(--k-running); border-radius: 7px;
  transition: inline-size 0.8s linear; }
.progress progress::-moz-progress-bar { background: var(--k-running); border-radius: 7px; }
.progress .percent { font-weight: 700; }
.error-panel { border-top: 3px solid var(--k-failed); }
.error-panel.t-warn { border-top-color: var(--k-reattempted); }
.error-line { font-size: 14.5px; margin-bottom: 8px; white-space: pre-wrap; }
.error-line b { color: var(--bad); }
.stack pre, .value-block { background: var(--sunk); border: 1px solid var(--line); border-radius: 6px;
  padding: 9px 11px; max-height: 300px; overflow: auto; font-size: 12.5px; line-height: 1.55; }
.stack summary, details > summary { cursor: pointer; }
.stack summary { color: var(--quiet); font-size: 12.5px; margin-bottom: 4px; }
.causes { margin-top: 12px; padding-left: 14px; border-left: 2px solid var(--line); display: grid; gap: 10px; }
.executions td, .executions th { white-space: nowrap; }
.executions .outcome { white-space: normal; min-width: 150px; }
.executions .worker { font-size: 12px; color: var(--quiet); display: inline-block; max-width: 150px; overflow: hidden;
  text-overflow: ellipsis; vertical-align: bottom; }
.executions .detail td { border-top: 0; padding: 0 10px 9px 16px; white-space: normal; }
.executions tr:target { background: var(--ready-bg); }
.executions tr:target + .detail { background: var(--ready-bg); }
.executions .detail summary { color: var(--quiet); font-size: 12.5px; }
.executions .detail b { color: var(--bad); }
.more { padding: 10px 16px !important; border-top: 1px solid var(--line); }
.actions h2 { margin-bottom: 10px; }
.action + .action { margin-top: 8px; }
.action.off { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 10px; align-items: center; }
.action.off p { font-size: 12.5px; line-height: 1.35; }
.action > .button { width: 126px; text-align: center; }
summary.b-resume { border-color: var(--link); color: var(--link); }
.action > summary { list-style: none; }
.action > summary::-webkit-details-marker { display: none; }
.action[open] > summary { background: var(--sunk); }
.action form { display: grid; gap: 10px; margin: 8px 0 4px; padding: 11px 12px; border: 1px solid var(--line);
  border-radius: 8px; background: var(--sunk); }
.action form > button { justify-self: start; }
.read-only { font-size: 12.5px; padding: 0 4px; }
.steps { margin-top: 10px; }
.steps li { display: grid; grid-template-columns: 22px minmax(0, 1fr); gap: 8px; padding: 4px 0; position: relative; }
.steps li:not(:last-child)::before { content: ""; position: absolute; left: 10px; top: 24px; bottom: -4px;
  width: 2px; background: var(--line); }
.step-mark { width: 22px; height: 22px; border-radius: 50%; border: 2px solid var(--line); background: var(--card);
  display: inline-flex; align-items: center; justify-content: center; font-size: 11px; line-height: 1; z-index: 1; }
.step-done .step-mark { background: var(--finished-bg); border-color: var(--finished-bg); color: var(--finished); }
.step-skipped .step-mark { background: var(--sunk); color: var(--quiet); }
.step-here .step-mark { background: var(--link); border-color: var(--link); color: var(--card); }
.step-here .step-name { font-weight: 700; }
.step-ahead .step-name, .step-passed .step-name, .step-skipped .step-name { color: var(--quiet); }
.step-skipped code { text-decoration: line-through; }
.step-name { padding-top: 1px; }
.step-name .tag { font-weight: 400; }
.signals > li + li { margin-top: 10px; border-top: 1px solid var(--line); padding-top: 10px; }
.signals { margin-top: 8px; }
.signals .value-block { margin-top: 5px; }
@media (max-width: 980px) {
  .columns { grid-template-columns: minmax(0, 1fr); }
  .wide, .narrow { display: contents; }
  .columns [data-region] { min-width: 0; }
  #progress { order: 1; } #actions { order: 2; } #timeline { order: 3; } #problem { order: 4; }
  #steps { order: 5; } #history { order: 6; } #values { order: 7; } #signals { order: 8; }
}
@media (max-width: 720px) {
  .lanes > li { grid-template-columns: minmax(0, 1fr) auto; gap: 0 10px; padding: 4px 0 6px; }
  .lanes .lane-drawing, .axis svg { grid-column: 1 / -1; grid-row: 2; }
  .timeline .legend { margin-left: 0; width: 100%; order: 3; }
  .axis { padding-bottom: 0 !important; }
}
`;
