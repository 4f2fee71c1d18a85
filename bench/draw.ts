/** Drawing a curve as an SVG: a few points over a logarithmic axis, readable in light and dark. */

/** A curve to draw. */
export interface Curve {
  /** The name of its file. */
  readonly file: string;
  /** What it shows. */
  readonly title: string;
  /** What is counted from left to right. */
  readonly xTitle: string;
  /** What is counted from bottom to top. */
  readonly yTitle: string;
  /** Its points, from left to right. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

const [WIDTH, HEIGHT] = [720, 320];
const MARGIN = { left: 84, right: 24, top: 48, bottom: 56 } as const;

/** Draws a curve. */
export function drawCurve({ title, xTitle, yTitle, points }: Curve): string {
  const most = ceilingOf(Math.max(...points.map((point) => point.y)));
  const log = (x: number): number => Math.log10(Math.max(1, x));
  const [first, last] = [log(points[0]?.x ?? 0), log(points.at(-1)?.x ?? 1)];
  const left = (x: number): number =>
    MARGIN.left + (WIDTH - MARGIN.left - MARGIN.right) * (log(x) - first) / (last - first || 1);
  const top = (y: number): number =>
    HEIGHT - MARGIN.bottom - (HEIGHT - MARGIN.top - MARGIN.bottom) * y / most;

  const lines = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const y = top(part * most).toFixed(1);
    return `<line class="grid" x1="${MARGIN.left}" x2="${
      WIDTH - MARGIN.right
    }" y1="${y}" y2="${y}"/>` +
      text(MARGIN.left - 8, Number(y) + 4, number(part * most), "end");
  });
  const marks = points.map(({ x, y }) => {
    const [cx, cy] = [left(x).toFixed(1), top(y).toFixed(1)];
    return `<circle class="point" cx="${cx}" cy="${cy}" r="4"/>` +
      text(Number(cx), Number(cy) - 10, number(y), "middle") +
      text(Number(cx), HEIGHT - MARGIN.bottom + 20, number(x), "middle");
  });
  const path = points.map(({ x, y }) => `${left(x).toFixed(1)},${top(y).toFixed(1)}`).join(" ");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" ` +
    `aria-label="${escaped(title)}">`,
    `<style>${STYLE}</style>`,
    `<rect class="paper" width="${WIDTH}" height="${HEIGHT}"/>`,
    text(MARGIN.left, 26, title, "start", "title"),
    ...lines,
    `<polyline class="curve" points="${path}"/>`,
    ...marks,
    text((WIDTH + MARGIN.left - MARGIN.right) / 2, HEIGHT - 12, xTitle, "middle"),
    `<text class="label" transform="translate(18 ${HEIGHT / 2}) rotate(-90)" ` +
    `text-anchor="middle">${escaped(yTitle)}</text>`,
    "</svg>",
    "",
  ].join("\n");
}

const STYLE = "text { font: 12px system-ui, sans-serif; fill: #333 } .title { font-weight: 600; " +
  "font-size: 14px } .paper { fill: #fff } .grid { stroke: #ddd } .curve { fill: none; " +
  "stroke: #2563eb; stroke-width: 2 } .point { fill: #2563eb } " +
  "@media (prefers-color-scheme: dark) { text { fill: #ddd } .paper { fill: #111 } " +
  ".grid { stroke: #333 } }";

function text(
  x: number,
  y: number,
  words: string,
  anchor: "start" | "middle" | "end",
  style: string = "label",
): string {
  return `<text class="${style}" x="${x.toFixed(1)}" y="${y.toFixed(1)}" ` +
    `text-anchor="${anchor}">${escaped(words)}</text>`;
}

function escaped(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

function number(value: number): string {
  return Math.round(value).toLocaleString("en");
}

/** The next figure that is 1, 2, 5 or 10 times a power of ten. */
function ceilingOf(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return power * ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10);
}
