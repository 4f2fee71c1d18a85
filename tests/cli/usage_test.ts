import assert from "node:assert/strict";
import { COMMANDS } from "../../src/cli/commands/mod.ts";
import { VERSION } from "../../src/version.ts";
import { onStores } from "./_harness.ts";
import { payment } from "./_payment.ts";

onStores(
  "wrong usage exits with 2, says what to type, and does nothing",
  [payment],
  async (shell) => {
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [["lst"], /^Cannot run "lst" \(did you mean "list"\?\): there is no such command/],
      [["frobnicate"], /^Cannot run "frobnicate": there is no such command/],
      [["--ongoing", "list"], /the first word is the command/],
      [["--database", "app.db", "lst"], /did you mean "list"/],
      [["help", "stauts"], /did you mean "status"/],
      [["list", "--worklfow", "x"], /^Cannot use --worklfow \(did you mean --workflow\?\)/],
      [["list", "--zzz"], /^Cannot use --zzz: "list" has no such option/],
      [["list", "-z"], /^Cannot use -z: "list" has no such option/],
      [["list", "--workflow"], /^Cannot use --workflow without a value: type --workflow=NAME/],
      [["list", "--workflow="], /^Cannot use --workflow without a value/],
      [["list", "--workflow", "--ongoing"], /^Cannot use --workflow without a value/],
      [["list", "--json=yes"], /^Cannot use --json=yes: --json takes no value/],
      [["list", "extra"], /^Cannot run "list": "extra" is one word too many; type: pawl list/],
      [["show"], /^Cannot run "show": something is missing; type: pawl show <id> \[options\]/],
      [["show", "1", "2"], /"2" is one word too many/],
      [["list", "--state", "pausd"], /^Cannot use "pausd" as --state \(did you mean "paused"\?\)/],
      [["list", "--state", ","], /^Cannot use --state without a value/],
      [["list", "--hero", "42"], /^Cannot use "42" as --hero: .* such as User:42/],
      [["list", "--hero", "User:"], /^Cannot use "User:" as --hero/],
      [["list", "--limit", "0"], /^Cannot use "0" as --limit: it must be a whole number from 1/],
      [["list", "--limit", "1e3"], /^Cannot use "1e3" as --limit/],
      [
        ["migrate", "--key-type", "text"],
        /^Cannot use "text" as --key-type: .* auto, bigint, uuid/,
      ],
      [["worker", "app", "--grace", "30"], /^Cannot use "30" as --grace: .* with its unit/],
      [["worker", "app", "--grace", "soon"], /^Cannot use "soon" as --grace/],
      [["signal", "1", "go", "--payload", "{by: ann}"], /^Cannot read --payload: it is not JSON/],
      [
        ["resume", "1"],
        /^Cannot resume without the definitions: .* --module <file>, or in PAWL_MODULE/,
      ],
      [["skip", "1"], /^Cannot skip without the definitions/],
      [["resume-at", "1", "charge"], /^Cannot resume-at without the definitions/],
      [["pause"], /^Cannot pause without knowing which/],
      [["pause", "1", "--ongoing"], /^Cannot pause by ids and by a filter at once/],
      [
        ["resume", "--state", "ready", "--module", "app"],
        /^Cannot resume what is ready: .* paused/,
      ],
      [["cancel", "--fingerprint", "xyz"], /^Cannot use "xyz" as --fingerprint: it is not one/],
      [["cancel", "--fingerprint", "abcd", "--step", "x"], /^Cannot use --step together with/],
    ];
    for (const [argv, expected] of cases) {
      const { code, out, err } = await shell.pawl(...argv);
      assert.match(err, expected, argv.join(" "));
      assert.match(err, /\[usage\]\n$/);
      assert.equal(code, 2, argv.join(" "));
      assert.equal(out, "");
    }
    shell.world.env = {};
    const { code, err } = await shell.pawl("list");
    assert.equal(code, 2);
    assert.match(
      err,
      /^Cannot run "list" without a database: .* --database <url>, or in PAWL_DATABASE/,
    );
  },
);

onStores(
  "the help names every command, and each command has examples",
  [payment],
  async (shell) => {
    for (const argv of [[], ["--help"], ["-h"], ["help"]]) {
      const { code, out } = await shell.pawl(...argv);
      assert.equal(code, 0);
      for (const { name } of COMMANDS) assert.match(out, new RegExp(`^  ${name} `, "m"));
    }
    for (const { name, options, examples } of COMMANDS) {
      assert.ok(examples.length > 0, name);
      for (
        const argv of [[name, "--help"], ["help", name], [name, "--nonsense", "-h"], ["-h", name]]
      ) {
        const { code, out } = await shell.pawl(...argv);
        assert.equal(code, 0);
        assert.match(out, new RegExp(`^pawl ${name}: `));
        for (const option of Object.keys(options)) assert.ok(out.includes(`--${option}`), option);
        assert.ok(out.includes("What --json prints"));
        for (const [typed] of examples) assert.ok(out.includes(typed));
      }
    }
  },
);

onStores("every example in the help is one that the command takes", [payment], async (shell) => {
  const { parseFor } = await import("../../src/cli/args.ts");
  let checked = 0;
  for (const command of COMMANDS) {
    for (const [typed] of command.examples) {
      const words = typed.split(/ [|>] /)[0]?.match(/'[^']*'|\S+/g)?.map((word) =>
        word.replaceAll("'", "")
      ) ?? [];
      const [pawl, name, ...rest] = words;
      assert.equal(pawl, "pawl");
      const typedFor = COMMANDS.find((one) => one.name === name);
      assert.ok(typedFor !== undefined, typed);
      parseFor(typedFor, rest);
      checked++;
    }
  }
  assert.ok(checked >= COMMANDS.length);
  assert.equal((await shell.pawl("--version")).out, `${VERSION}\n`);
});

onStores(
  "an error is a sentence with its code, and a stack only with --debug",
  [payment],
  async (shell) => {
    const plain = await shell.pawl("show", "999");
    assert.deepEqual([plain.code, plain.out], [1, ""]);
    assert.equal(plain.err, `No workflow has the id "999" [workflow_not_found]\n`);

    const debug = await shell.pawl("show", "999", "--debug");
    assert.match(debug.err, /\[workflow_not_found\]\n.*WorkflowNotFoundError.*\n\s+at /s);

    const machine = await shell.pawl("show", "999", "--json");
    assert.equal(machine.code, 1);
    assert.deepEqual(JSON.parse(machine.err), {
      error: { code: "workflow_not_found", message: 'No workflow has the id "999"' },
    });

    shell.world.open = () => Promise.reject(new Error("the disk is on fire"));
    const foreign = await shell.pawl("list");
    assert.deepEqual([foreign.code, foreign.err], [1, "the disk is on fire [unexpected]\n"]);
  },
);

onStores("a module that cannot be used is explained", [payment], async (shell) => {
  const { err, code } = await shell.pawl("check", "./nowhere.ts");
  assert.equal(code, 1);
  assert.match(
    err,
    /^Cannot load the module \.\/nowhere\.ts: Module not found .* \[invalid_input\]$/m,
  );
  shell.exports = { default: () => payment, other: { kind: "workflow", name: "payment" } };
  const none = await shell.pawl("check", "app");
  assert.equal(none.code, 1);
  assert.match(none.err, /^Cannot use the module app: none of its exports is a workflow/);
});

onStores("colours are for terminals, and NO_COLOR is honoured", [payment], async (shell) => {
  await shell.engine.start(payment, { hero: "1" });
  const coloured = async (world: typeof shell.world): Promise<boolean> => {
    Object.assign(shell.world, world);
    return (await shell.pawl("list")).out.includes("\x1b[");
  };
  const database = { PAWL_DATABASE: "app.db" };
  assert.equal(await coloured({ isTTY: false }), false);
  assert.equal(await coloured({ isTTY: true }), true);
  assert.equal(await coloured({ env: { ...database, NO_COLOR: "1" } }), false);
  assert.equal(await coloured({ env: { ...database, NO_COLOR: "" } }), true);
  assert.equal(await coloured({ env: { ...database, TERM: "dumb" } }), false);
});

onStores("options of all commands may stand before the command", [payment], async (shell) => {
  await shell.engine.start(payment, { hero: "1" });
  for (
    const argv of [
      ["--json", "list"],
      ["--database", "app.db", "--json", "list"],
      ["--database=app.db", "list", "--json"],
    ]
  ) {
    assert.equal((await shell.pawl(...argv)).json.items.length, 1);
  }
});
