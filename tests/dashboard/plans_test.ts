import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../drivers/sqlite/mod.ts";

const HOUR = 3_600_000;

for (const analyzed of [false, true]) {
  Deno.test(`activity() reads nothing but its index${analyzed ? ", with statistics" : ""}`, async () => {
    const db = new DatabaseSync(":memory:");
    const store = sqliteStore(db);
    await store.migrate();
    if (analyzed) db.exec("ANALYZE");
    const texts: string[] = [];
    const prepare = db.prepare.bind(db);
    db.prepare = (text) => {
      texts.push(text);
      return prepare(text);
    };
    const until = new Date(Date.UTC(2026, 0, 1));
    await store.activity({ since: new Date(until.getTime() - HOUR), until, buckets: 60 });
    const asked = texts.filter((text) => text.includes("step_executions"));
    assert.equal(asked.length, 2, "two statements for sixty buckets");
    const plans = asked.map((text) =>
      prepare(`EXPLAIN QUERY PLAN ${text}`).all().map((row) => String(row.detail))
    );
    const [ends = [], workers = []] = plans;
    const searches = ends.filter((line) => /^(SEARCH|SCAN)/.test(line));
    assert.equal(searches.length, 60);
    for (const line of searches) {
      assert.match(
        line,
        /^SEARCH e USING COVERING INDEX pawl_step_executions_ended \(finished_at>\? AND finished_at<\?\)/,
      );
    }
    assert.match(workers.join("\n"), /SEARCH e USING INDEX pawl_step_executions_live \(state=\?\)/);
    db.close();
  });
}
