import assert from "node:assert/strict";
import fc from "fast-check";
import { type Html, html, markupOf } from "../../src/dashboard/html.ts";

function render(piece: Html): string {
  return markupOf(piece);
}

Deno.test("html escapes text and attributes alike", () => {
  const evil = `<img src=x onerror="alert('1')">&amp;`;
  assert.equal(
    render(html`<p title="${evil}">${evil}</p>`),
    `<p title="&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;">` +
      `&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;</p>`,
  );
});

Deno.test("html leaves its own results as they are, also in lists", () => {
  const items = ["a", "<b>"].map((one) => html`<li>${one}</li>`);
  assert.equal(
    render(html`<ul>${items}${[html`<li>${1}</li>`]}</ul>`),
    "<ul><li>a</li><li>&lt;b&gt;</li><li>1</li></ul>",
  );
});

Deno.test("html writes nothing for nothing, and numbers as they are", () => {
  assert.equal(render(html`[${null}${undefined}${false}${""}${0}${-1.5}]`), "[0-1.5]");
});

Deno.test("html escapes what only looks like its own result", () => {
  const forged = { kind: "html" } as Html;
  const text = { kind: "html", toString: () => "<script>" } as Html;
  assert.equal(render(html`${forged}${text}`), "[object Object]&lt;script&gt;");
  assert.throws(() => markupOf(forged), TypeError);
});

Deno.test("html marks control characters and lone surrogates, which no page should hold", () => {
  assert.equal(render(html`${"a\0b\x1bc\ud800d\ne\tf"}`), "a\uFFFDb\uFFFDc\uFFFDd\ne\tf");
});

Deno.test("no text ever becomes a tag, leaves its attribute or ends an entity", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
    const markup = render(html`<p title="${text}">${text}</p>`);
    const inside = markup.slice('<p title="'.length, -"</p>".length);
    const [attribute = "", content = ""] = inside.split('">');
    for (const part of [attribute, content]) {
      assert.ok(!/[<>"']/.test(part), part);
      assert.ok(!/&(?!(amp|lt|gt|quot|#39);)/.test(part), part);
    }
  }));
});
