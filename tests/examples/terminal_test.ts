import assert from "node:assert/strict";
import { terminalPage } from "../../examples/dashboard/terminal.ts";
import { night } from "../../examples/timeline.ts";

Deno.test("the page of a terminal has its colours as spans, and nothing of the text is markup", () => {
  const page = terminalPage("$ pawl show 1\n\x1b[31m<b>failed</b>\x1b[39m & done");
  assert.ok(page.includes('<span class="prompt">$ pawl show 1</span>\n'));
  assert.ok(page.includes('<span class="red">&lt;b>failed&lt;/b></span> &amp; done</pre>'));
  assert.throws(() => terminalPage("\x1b[95mpink\x1b[39m"), {
    message: "Cannot draw the terminal's code 95",
  });
});

Deno.test("the picture of the command line has every colour that it uses, and names no folder of this machine", async () => {
  const text = await night({ colours: true });
  const page = terminalPage(text);
  for (const name of ["bold", "dim", "red", "green", "yellow"]) {
    assert.ok(page.includes(`<span class="${name}">`), name);
  }
  assert.equal(page.split("<span").length, page.split("</span>").length);
  assert.ok(!page.includes(new URL("../../", import.meta.url).pathname));
  assert.match(text, /file:\/\/\/srv\/shop\/examples\/timeline\.ts/);
});
