// What the page is about, as genperf wrote it.
const PAGE = JSON.parse(document.getElementById("data").textContent);
const RULES = PAGE.rules;
// The predicted quantity: its name, unit, heading, and whether it is a time.
const QUANTITY = PAGE.quantity;
// The price of an hour and the work in all, as the page was written or as they were typed; null where unknown.
const JOB = { ...PAGE.job };

// Drawing: one small chart with axes, in SVG; sizes follow the place it is given.
const SVG = "http://www.w3.org/2000/svg";

// Elements are made of text, never of markup: whatever a column is called stays text.
function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}
function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((c) => c !== null && c !== undefined));
  return element;
}

const color = (name) => `var(--${name})`;
const TERM_COLORS = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"];
const VERDICT_COLORS = { ok: "ok", caution: "caution", "extrapolating-blind": "blind" };
const VERDICT_WORDS = { ok: "ok", caution: "caution", "extrapolating-blind": "do not rely on it" };
const VERDICT_DASHES = { ok: null, caution: "7 3", "extrapolating-blind": "2 3" };

function scaleOf({ low, high, log }, from, to) {
  const f = log ? Math.log : (v) => v;
  const a = f(low), b = f(high);
  return (v) => from + ((f(v) - a) / (b - a || 1)) * (to - from);
}

function ticksOf({ low, high, log, base }, count) {
  if (log && base === 2) {
    const first = Math.ceil(Math.log2(low) - 1e-9), last = Math.floor(Math.log2(high) + 1e-9);
    const all = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => 2 ** (first + i));
    const every = Math.max(1, Math.ceil(all.length / count));
    return all.length > 1 ? all.filter((_, i) => i % every === 0) : [low, high];
  }
  if (log && high / low > 3) {
    const out = [];
    const steps = high / low < 10 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : high / low < 300 ? [1, 2, 5] : [1];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
      for (const k of steps) {
        const v = +(k * 10 ** e).toPrecision(6);
        if (v >= low * 0.9999 && v <= high * 1.0001) out.push(v);
      }
    const every = Math.max(1, Math.ceil(out.length / (count + 2)));
    return out.length > 1 ? out.filter((_, i) => i % every === 0) : [low, high];
  }
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((k) => k * power).find((v) => v >= rough);
  const out = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step) out.push(+v.toPrecision(12));
  return out;
}

// x, y: {label, low, high, log, base}; draw: (svg, X, Y) adds the layers.
function chart(width, { x, y, draw, title, ratio = 0.56 }) {
  const w = Math.max(280, Math.round(width)), hgt = Math.round(Math.min(Math.max(w * ratio, 220), 440));
  const ticks = ticksOf(y, 6), longest = Math.max(...ticks.map((t) => people(t).length));
  const left = 30 + 7 * Math.min(longest, 10), right = 14, top = 12, bottom = 44;
  const X = scaleOf(x, left, w - right), Y = scaleOf(y, hgt - bottom, top);
  const svg = s("svg", { viewBox: `0 0 ${w} ${hgt}`, role: "img", "aria-label": title });
  for (const t of ticks) {
    svg.append(
      s("line", { class: "grid", x1: left, x2: w - right, y1: Y(t), y2: Y(t) }),
      s("text", { x: left - 8, y: Y(t) + 4, "text-anchor": "end" }, people(t)),
    );
  }
  // A count is written out: 2048, and not 2,050.
  const counted = (v) => (Number.isInteger(v) && v < 1e6 ? String(v) : people(v));
  for (const t of ticksOf(x, Math.max(3, Math.floor(w / 62)))) {
    svg.append(
      s("line", { class: "grid", x1: X(t), x2: X(t), y1: top, y2: hgt - bottom }),
      s("text", { x: X(t), y: hgt - bottom + 18, "text-anchor": "middle" }, counted(t)),
    );
  }
  svg.append(s("line", { class: "axis", x1: left, x2: w - right, y1: hgt - bottom, y2: hgt - bottom }));
  svg.append(
    s("text", { x: (left + w - right) / 2, y: hgt - 6, "text-anchor": "middle" }, cut(x.label, Math.floor(w / 9))),
    s("text", { x: 12, y: (top + hgt - bottom) / 2, "text-anchor": "middle",
      transform: `rotate(-90 12 ${(top + hgt - bottom) / 2})` }, y.label),
  );
  draw(svg, X, Y, { left, right: w - right, top, bottom: hgt - bottom });
  return svg;
}

const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(2)} ${b.toFixed(2)}`).join("");
const area = (X, Y, xs, low, high) =>
  path([...xs.map((v, i) => [X(v), Y(high[i])]), ...xs.map((v, i) => [X(v), Y(low[i])]).reverse()]) + "Z";
const line = (X, Y, xs, ys) => path(xs.map((v, i) => [X(v), Y(ys[i])]));

function cut(text, width) {
  const letters = Array.from(text);
  return letters.length > width ? `${letters.slice(0, Math.max(1, width - 1)).join("")}…` : text;
}

function legend(entries) {
  return h("ul", { class: "legend" }, entries.map(([mark, text]) =>
    h("li", {}, s("svg", { viewBox: "0 0 22 12", "aria-hidden": "true" }, mark()), h("span", {}, text))));
}
const lineMark = (stroke, dash, width = 2.5) => () =>
  s("line", { x1: 1, x2: 21, y1: 6, y2: 6, stroke: color(stroke), "stroke-width": width, "stroke-dasharray": dash });
const boxMark = (fill, opacity = 1) => () => s("rect", { x: 2, y: 0, width: 18, height: 12, fill: color(fill), opacity });
const dotMark = (fill) => () => s("circle", { cx: 11, cy: 6, r: 4.5, fill: color(fill) });

// Three digits and a letter from a million on, as people write large numbers.
function compact(value) {
  const unit = [[1e12, "T"], [1e9, "B"], [1e6, "M"]].find(([size]) => Math.abs(value) >= 0.9995 * size);
  return unit ? `${+(value / unit[0]).toPrecision(3)}${unit[1]}` : plain(value);
}
// A number as people write it: 30B, 1.5 M, 64; NaN where it is none.
function readNumber(text) {
  const match = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*([kmbgt]?)$/i.exec(text.trim());
  return match ? match[1] * { "": 1, k: 1e3, m: 1e6, b: 1e9, g: 1e9, t: 1e12 }[match[2].toLowerCase()] : NaN;
}

// Text of a CSV: full digits, quotes where a cell needs them.
function csvOf(head, rows) {
  const cell = (value) => {
    const plainText = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(plainText) ? `"${plainText.replace(/"/g, '""')}"` : plainText;
  };
  return [head, ...rows].map((row) => row.map(cell).join(",") + "\n").join("");
}
// A button that saves a table as CSV.
function saving(name, head, rows) {
  return h("button", { class: "save", type: "button", onclick: () => offer(new Blob([csvOf(head, rows)], { type: "text/csv" }), name) }, "Download CSV");
}

// A table with a caption; numbers stand right.
function table(caption, head, rows, { best = -1, numbers = [] } = {}) {
  const right = head.map((_, j) => numbers.includes(j) || (rows.length > 0 && rows.every((r) => r[j] === null || typeof r[j] === "number")));
  const cell = (tag, value, j) => {
    const shown = value === null || value === undefined ? "–" : typeof value === "number" ? plain(value) : value;
    return h(tag, { class: right[j] ? "number" : "text", scope: tag === "th" ? "col" : null }, shown);
  };
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, head.map((v, j) => cell("th", v, j)))),
      h("tbody", {}, rows.map((r, i) => h("tr", { class: i === best ? "best" : null }, r.map((v, j) => cell("td", v, j)))))));
}

// Where a value stands among others: a bar from end to end of nine in ten, their median, and the value.
function strip([low, median, high, value]) {
  const x = (v) => 6 + 228 * Math.max(0, v) / Math.max(100, high, value), about = `${value} %, nine in ten from ${low} to ${high} %`;
  return s("svg", { viewBox: "0 0 240 34", class: "strip", role: "img", "aria-label": about },
    s("line", { x1: 6, x2: 234, y1: 12, y2: 12, stroke: color("line") }),
    s("rect", { x: x(low), width: x(high) - x(low), y: 6, height: 12, rx: 3, fill: color("accent"), opacity: 0.25 }),
    s("line", { x1: x(median), x2: x(median), y1: 4, y2: 20, stroke: color("accent"), "stroke-width": 2 }),
    s("circle", { cx: x(value), cy: 12, r: 5, fill: value < low ? color("blind") : color("accent") }),
    s("text", { x: 6, y: 32, "font-size": 8, fill: color("soft") }, "0 %"),
    s("text", { x: 234, y: 32, "font-size": 8, "text-anchor": "end", fill: color("soft") }, `${compact(Math.max(100, high, value))} %`));
}
