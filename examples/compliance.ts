/**
 * A report with an audit before it is submitted, for those who need one.
 *
 * `deno run -A examples/compliance.ts`
 *
 * Shows `extends` with `beforeStep` and `afterStep`: the regulated report is the plain one with two
 * steps put in, and keeps following it when it changes. Hooks of both apply.
 *
 * @module
 */

import { hero, workflow, type WorkflowDefinition } from "@pawl/pawl";
import { recount, say, stage } from "./_story.ts";

interface Report {
  readonly id: string;
  figures: number[];
}

const table = new Map<string, Report>();
const reports = hero("Report", { load: (id) => table.get(id), idOf: (one: Report) => one.id });

const report = workflow({
  name: "report",
  hero: reports,
  steps: [
    {
      name: "collect",
      run({ hero }) {
        hero.figures = hero.id === "Q2" ? [4, Number.NaN] : [4, 8, 15];
        say(`${hero.id}: figures ${hero.figures.join(", ")}`);
      },
    },
    { name: "submit", run: ({ hero }) => say(`${hero.id}: submitted`) },
  ],
});

const regulatedReport = workflow({
  name: "regulated_report",
  extends: report,
  hooks: {
    // Around every step, inherited ones too. What follows `next` is only reached when the step did
    // not fail; an `afterStep` hook is called either way.
    async aroundStep({ hero, execution }, next) {
      await next();
      say(`${hero.id}: audit log, ${execution.stepName} done`);
    },
  },
  steps: [
    {
      name: "check_figures",
      beforeStep: "submit",
      run({ hero }) {
        if (hero.figures.some(Number.isNaN)) throw new Error("the figures are incomplete");
      },
    },
    { name: "archive", afterStep: "submit", run: ({ hero }) => say(`${hero.id}: archived`) },
  ],
});

async function main(): Promise<void> {
  console.log(`the steps of ${report.name}: ${names(report)}`);
  console.log(`the steps of ${regulatedReport.name}: ${names(regulatedReport)}\n`);

  await using t = await stage({ workflows: [report, regulatedReport] });
  for (const id of ["Q1", "Q2"]) table.set(id, { id, figures: [] });
  const q1 = await t.engine.start(regulatedReport, { hero: "Q1" });
  await t.clock.tick("1 minute");
  const q2 = await t.engine.start(regulatedReport, { hero: "Q2" });
  await t.clock.tick("1 minute");
  await recount(q1);
  await recount(q2);
}

function names({ steps }: WorkflowDefinition): string {
  return steps.map((step) => step.name).join(", ");
}

if (import.meta.main) await main();

/* It prints:

the steps of report: collect, submit
the steps of regulated_report: collect, check_figures, submit, archive

day 0 09:00:00 | Q1: figures 4, 8, 15
day 0 09:00:00 | Q1: audit log, collect done
day 0 09:00:00 | Q1: audit log, check_figures done
day 0 09:00:00 | Q1: submitted
day 0 09:00:00 | Q1: audit log, submit done
day 0 09:00:00 | Q1: archived
day 0 09:00:00 | Q1: audit log, archive done
day 0 09:01:00 | Q2: figures 4, NaN
day 0 09:01:00 | Q2: audit log, collect done

regulated_report 1 is finished:
  collect: completed
  check_figures: completed
  submit: completed
  archive: completed

regulated_report 2 is paused:
  collect: completed
  check_figures: failed by exception: the figures are incomplete
*/
