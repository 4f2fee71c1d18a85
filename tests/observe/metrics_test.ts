import assert from "node:assert/strict";
import { type Gauges, metrics, workflow } from "../../mod.ts";
import { performNextStep, speedrunWorkflow } from "../../src/testing/mod.ts";
import { behaviour } from "../_engines.ts";

const rental = workflow({
  name: 'rental "weekend"',
  steps: [
    { name: "hand_over", run: () => {} },
    { name: "take_back", wait: "2 days", run: () => {} },
  ],
});
const claim = workflow({
  name: "claim",
  steps: [{
    name: "inspect",
    run: () => {
      throw new Error("no photo");
    },
  }],
});

behaviour(
  "INS-13 gauges count workflows per definition and state, and the share that is paused",
  async (world) => {
    const { engine, clock } = await world.engine({ workflows: [rental, claim] });
    const seen: Gauges[] = [];
    engine.events.on("gauges", (gauges) => void seen.push(gauges));
    const [first] = [await engine.start(rental), await engine.start(rental)];
    await (await engine.start(rental)).pause();
    await (await engine.start(rental)).cancel();
    await speedrunWorkflow(first as typeof first);
    await engine.housekeep();
    const counts = Object.fromEntries(
      seen[0]?.counts.map(({ state, count }) => [state, count]) ?? [],
    );
    assert.deepEqual(counts, { finished: 1, ready: 1, paused: 1, canceled: 1 });
    assert.deepEqual(seen[0]?.pausedShare, { [rental.name]: 0.5 });
    clock.travelTo(clock.now() + 90_000);
    const { lagMs, oldestDueAt, running } = await engine.gauges();
    assert.equal(lagMs, 90_000);
    assert.equal(oldestDueAt?.getTime(), clock.now() - 90_000);
    assert.equal(running, 0);
  },
);

behaviour(
  "INS-13 metrics speak the text format of Prometheus, with labels escaped",
  async (world) => {
    const { engine, clock } = await world.engine({ workflows: [rental, claim] });
    const { text, handler, close } = metrics(engine, { now: clock.now });
    await performNextStep(await engine.start(rental));
    await assert.rejects(performNextStep(await engine.start(claim)), /no photo/);
    const body = await text();
    const lines = new Set(body.split("\n"));
    for (
      const line of [
        "# TYPE pawl_workflows gauge",
        'pawl_workflows{workflow="rental \\"weekend\\"",state="ready"} 1',
        'pawl_workflows{workflow="claim",state="paused"} 1',
        'pawl_paused_share{workflow="claim"} 1',
        'pawl_paused_share{workflow="rental \\"weekend\\""} 0',
        'pawl_steps_total{workflow="rental \\"weekend\\"",step="hand_over",outcome="completed"} 1',
        'pawl_steps_total{workflow="claim",step="inspect",outcome="exception"} 1',
        'pawl_step_duration_seconds_bucket{workflow="claim",step="inspect",le="+Inf"} 1',
        'pawl_step_duration_seconds_count{workflow="claim",step="inspect"} 1',
        'pawl_errors_total{workflow="claim"} 1',
        "pawl_steps_per_second 2",
        "pawl_due_lag_seconds 0",
      ]
    ) assert.ok(lines.has(line), `${line}\nis not among\n${body}`);
    for (const line of body.trimEnd().split("\n")) {
      assert.match(line, /^(# (HELP|TYPE) pawl_\w+ .+|pawl_\w+(\{.+\})? [\d.e+-]+)$/);
    }
    const response = await handler(new Request("http://localhost/metrics"));
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    await response.body?.cancel();
    close();
    await performNextStep(await engine.start(rental));
    assert.ok((await text()).includes('step="hand_over",outcome="completed"} 1'), "it has stopped");
  },
);
