import assert from "node:assert/strict";
import { drawCurve } from "../../bench/draw.ts";

const curve = {
  file: "a.svg",
  title: 'Steps & "more"',
  xTitle: "rows",
  yTitle: "per second",
  points: [{ x: 0, y: 40_000 }, { x: 100, y: 20_000 }, { x: 10_000, y: 50_000 }],
};

Deno.test("a curve has a mark for every point, each with its figure", () => {
  const svg = drawCurve(curve);
  assert.equal(svg.match(/<circle/g)?.length, 3);
  for (const figure of ["40,000", "20,000", "50,000", "10,000"]) assert.ok(svg.includes(figure));
  assert.ok(svg.includes("Steps &amp; &quot;more&quot;"));
});

Deno.test("a curve goes from left to right, and up where there is more", () => {
  const places = [...drawCurve(curve).matchAll(/cx="([\d.]+)" cy="([\d.]+)"/g)]
    .map(([, x, y]) => ({ x: Number(x), y: Number(y) }));
  const [first, second, third] = places;
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  assert.ok(first.x < second.x && second.x < third.x);
  assert.ok(third.y < first.y && first.y < second.y);
});
