import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { freshSqlite } from "../_servers.ts";

const SCRIPT = fileURLToPath(new URL("./_traced.ts", import.meta.url));

/** Runs the traced process with Deno's own OpenTelemetry, and answers the trace of each span. */
function tracesOf(...args: string[]): Map<string, string> {
  const env = { ...Deno.env.toObject(), OTEL_DENO: "true", OTEL_EXPORTER_OTLP_PROTOCOL: "console" };
  const { stderr, status } = spawnSync(Deno.execPath(), [
    "run",
    "-A",
    "--no-check",
    SCRIPT,
    ...args,
  ], {
    env,
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  const spans = stripVTControlCharacters(stderr).matchAll(/^SPAN (.+?) \[([0-9a-f]{32})\//gm);
  return new Map([...spans].map(([, name, trace]) => [String(name), String(trace)]));
}

Deno.test("INS-02 with OTEL_DENO=true a trace spans the restart of the process", async () => {
  await using database = await freshSqlite();
  const first = tracesOf(database.url);
  const second = tracesOf(database.url, "1");
  assert.deepEqual([...first.keys()].sort(), ["parcel pack", "start parcel"]);
  assert.deepEqual([...second.keys()], ["parcel ship"]);
  assert.equal(new Set([...first.values(), ...second.values()]).size, 1);
});
