import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "../../mod.ts";
import { onStores, type Shell } from "../cli/_harness.ts";
import { order } from "./_world.ts";

/** Types a command that serves the dashboard; answers its address once it is printed. */
async function serve(
  shell: Shell,
  ...argv: string[]
): Promise<{ url: string; ended: ReturnType<Shell["pawl"]> }> {
  shell.world.clock = systemClock;
  const ended = shell.pawl("dashboard", "--port", "0", ...argv);
  while (!/http:\S+/.test(shell.printed.out)) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return { url: /http:[^\s"]+/.exec(shell.printed.out)?.[0] ?? "", ended };
}

async function statusOf(response: Response): Promise<number> {
  await response.body?.cancel();
  return response.status;
}

onStores("pawl dashboard serves this machine until it is told to stop", [order], async (shell) => {
  const run = await shell.engine.start(order, { hero: "7", input: { iban: "DE00", lines: 2 } });
  const { url, ended } = await serve(shell, "--title", "Test shop", "--redact", "iban");
  const page = await (await fetch(`${url}workflows/${run.id}`)).text();
  assert.match(page, /<title>order 1 · Test shop<\/title>/);
  assert.doesNotMatch(page, /DE00/);
  assert.match(page, /runs without the application/);
  const form = { method: "POST", body: new URLSearchParams({ action: "cancel" }) };
  assert.equal(await statusOf(await fetch(`${url}workflows/${run.id}`, form)), 403);
  // An open stream does not keep it from ending.
  const stream = await fetch(`${url}live/overview`);
  const reader = stream.body?.getReader();
  await reader?.read();
  shell.signal("SIGINT");
  const { code, out, err } = await ended;
  assert.deepEqual([code, err], [0, ""]);
  assert.match(out, /^The dashboard is at http:\/\/127\.0\.0\.1:\d+\/ \(Ctrl-C ends it\)\n$/);
  await reader?.cancel().catch(() => {});
  await assert.rejects(fetch(url));
});

onStores("pawl dashboard acts when it is told to, with the definitions", [order], async (shell) => {
  const run = await shell.engine.start(order, { hero: "7" });
  await run.pause();
  const { url, ended } = await serve(shell, "--actions", "--module", "app", "--json");
  assert.deepEqual(JSON.parse(shell.printed.out), { url });
  const first = await fetch(`${url}workflows/${run.id}`);
  const cookie = (first.headers.get("set-cookie") ?? "").split(";")[0] as string;
  assert.match(await first.text(), /It goes on with <code>charge<\/code> at once/);
  const answer = await fetch(`${url}workflows/${run.id}`, {
    method: "POST",
    headers: { cookie, origin: url.slice(0, -1) },
    body: new URLSearchParams({ action: "resume", pawl_csrf: cookie.split("=")[1] as string }),
  });
  assert.equal(answer.status, 200, "after the redirect");
  assert.match(await answer.text(), /Resumed: it goes on/);
  assert.equal((await run.reload()).state, "ready");
  shell.signal("SIGTERM");
  assert.equal((await ended).code, 0);
});

onStores("pawl dashboard says what is wrong with its port", [order], async (shell) => {
  const words = await shell.pawl("dashboard", "--port", "many");
  assert.equal(words.code, 2);
  assert.match(words.err, /^Cannot use "many" as --port: it is not a port/);
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address() as AddressInfo;
  const taken = await shell.pawl("dashboard", "--port", String(port));
  assert.equal(taken.code, 1);
  assert.match(
    taken.err,
    new RegExp(`^Cannot listen on port ${port}: .*; choose another with --port`),
  );
  await new Promise((resolve) => other.close(resolve));
});
