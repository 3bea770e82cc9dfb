// A figure as a PNG: the colours and fonts that the page gives it are written into the drawing, then it is painted.
const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-family", "font-size", "font-weight"];

function standalone(svg) {
  const copy = svg.cloneNode(true), [, , w, hgt] = svg.getAttribute("viewBox").split(" ");
  const from = svg.querySelectorAll("*"), to = copy.querySelectorAll("*");
  from.forEach((e, i) => {
    const style = getComputedStyle(e);
    for (const name of DRAWN) to[i].setAttribute(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", w);
  copy.setAttribute("height", hgt);
  return [new XMLSerializer().serializeToString(copy), +w, +hgt];
}

// The legend stands below the drawing, as on the page.
function painted(box, scale = 2) {
  const [text, w, hgt] = standalone(box.querySelector("svg[role=img]"));
  const image = new Image();
  return new Promise((done, failed) => {
    image.onerror = () => failed(new Error("the figure cannot be painted"));
    image.onload = () => {
      const entries = [...box.querySelectorAll(".legend span")].map((e) => e.textContent), marks = [...box.querySelectorAll(".legend svg")];
      const canvas = h("canvas", { width: w * scale, height: (hgt + 22 * entries.length + 8) * scale }), pen = canvas.getContext("2d");
      pen.scale(scale, scale);
      pen.fillStyle = getComputedStyle(box.closest(".card")).backgroundColor;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.drawImage(image, 0, 0, w, hgt);
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      entries.forEach((words, i) => {
        const y = hgt + 14 + 22 * i, mark = marks[i].firstElementChild, style = getComputedStyle(mark);
        pen.globalAlpha = +style.opacity;
        pen.strokeStyle = style.stroke;
        pen.fillStyle = style.fill;
        pen.lineWidth = parseFloat(style.strokeWidth);
        pen.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[ ,]+/).map(parseFloat));
        pen.beginPath();
        if (mark.tagName === "line") { pen.moveTo(12, y); pen.lineTo(32, y); pen.stroke(); }
        else if (mark.tagName === "rect") pen.fillRect(13, y - 6, 18, 12);
        else { pen.arc(22, y, 4.5, 0, 2 * Math.PI); pen.fill(); }
        pen.globalAlpha = 1;
        pen.fillStyle = getComputedStyle(box.querySelector(".legend")).color;
        pen.fillText(words, 40, y);
      });
      canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("the figure cannot be painted"))), "image/png");
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  });
}

function offer(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// A button under a figure that saves it.
function picturing(id, name) {
  return h("button", { class: "save", type: "button", onclick: () => painted($(id)).then((blob) => offer(blob, name)) }, "Download PNG");
}

// The figures of a configuration: the prediction along the scale, its terms, the efficiency.

function curve(x = state.x) {
  const { counts, drawn } = sheet.path;
  const xs = drawn.map((i) => counts[i]);
  const at = xs.map((count) => along(count, x));
  return { xs, at, rows: at.map(predict) };
}

const constantAlong = (place) => place !== sheet.along && !(String(place) in sheet.path.follow);

function measuredAlong(x, m) {
  const k = sheet.factors.length;
  return sheet.measured
    .filter((r) => sheet.factors.every((f, i) => !constantAlong(i) || (f.numeric ? +r[i] === +x[i] : r[i] === x[i])))
    .map((r) => ({ at: r[sheet.along], ...inMeasure({ value: r[k], lower: r[k + 1], upper: r[k + 2] }, r.slice(0, k), sheet, m) }))
    .map(({ at, value, lower: low, upper: high }) => ({ at, value, low, high }));
}

// The width of the sheet at which the figures were drawn, pixels.
let drawnWidth = 0;
function drawFigures() {
  drawnWidth = $("sheet").clientWidth;
  const cards = ["glance", "scaling", "stack", ...(QUANTITY.isTime ? ["efficiency"] : [])];
  for (const id of cards) $(`${id}-card`).hidden = sheet.along === null;
  if (sheet.along === null) return drawOnePlace();
  // Without a word on the work there is no efficiency: the answers ask for it. A card is hidden
  // before the figures beside it are drawn, which take the width they then have.
  if ($("efficiency-card")) $("efficiency-card").hidden = !sheet.efficiency;
  const { xs, at, rows } = curve();
  drawScaling("glance", curve(sheet.at), sheet.at, MEASURES[sheet.glance.measure]);
  drawScaling("scaling", { xs, at, rows }, state.x, measure());
  drawStack(xs);
  if (sheet.efficiency) drawEfficiency();
}

// Where no factor counts the workers: the terms at the one configuration, as a table.
function drawOnePlace() {
  const { value, terms } = parts(state.x);
  $("stack-card").hidden = false;
  put("stack", table("The part of each term at the configuration above", ["term", headingOf(MEASURES.value), "share (%)"],
    [...terms].filter(([, v]) => v).map(([name, v]) => [name, +MEASURES.value.of(v).toPrecision(4), +((100 * v) / value).toPrecision(3)])));
}

const axisX = (xs) => ({ label: `${sheet.factors[sheet.along].name} (log scale)`, low: Math.min(...xs), high: Math.max(...xs), log: true, base: 2 });

// The prediction along the scale at x: on the first screen that of the answers, below that of the sliders, with its numbers.
function drawScaling(id, { xs, at: configurations, rows: raw }, x, m) {
  const rows = raw.map((r, i) => inMeasure(r, configurations[i], sheet, m)), measured = (v) => withMeasure(v, m), live = id === "scaling";
  const f = sheet.factors[sheet.along], points = measuredAlong(x, m), now = inMeasure(predict(x), x, sheet, m), at = x[sheet.along];
  // Perfect scaling is that of a time whose work is known.
  const perfect = QUANTITY.isTime && sheet.path.work
    ? xs.map((c, i) => m.of((raw[0].value * workAt(c)) / workAt(xs[0]), configurations[i], sheet)) : [];
  const others = state.beside === null || !live ? [] : configurations.map((y) => {
    const [there, place, other] = predictBeside(y);
    return m.known(other) ? inMeasure(there, place, other, m) : null;
  }).filter((r) => r);
  const values = [...[...rows, ...others].flatMap((r) => [r.lower, r.upper]), ...points.flatMap((p) => [p.low, p.high]), ...perfect];
  const box = $(id), heading = headingOf(m);
  const svg = chart(box.clientWidth, {
    x: axisX(xs), y: { label: heading, low: Math.min(...values) / 1.06, high: Math.max(...values) * 1.06, log: true },
    title: `${heading} along ${f.name}: ${rows.length} predictions from ${measured(rows[0].value)} at ${plain(xs[0])} to ` +
      `${measured(rows.at(-1).value)} at ${plain(xs.at(-1))}, and ${points.length} measured configurations. Numbers are in the table below.`,
    draw: (svg, X, Y, frame) => {
      if (f.upper < xs.at(-1)) {
        svg.append(s("rect", { x: frame.left, y: frame.top, width: Math.max(0, X(f.upper) - frame.left), height: frame.bottom - frame.top, fill: color("perfect"), opacity: 0.07 }));
        svg.append(s("text", { x: Math.max(frame.left + 54, X(f.upper) - 6), y: frame.top + 13, "text-anchor": "end" }, "measured"));
      }
      svg.append(s("path", { d: area(X, Y, xs, rows.map((r) => r.lower), rows.map((r) => r.upper)), fill: color("band"), opacity: 0.18 }));
      if (others.length) {
        svg.append(s("path", { d: area(X, Y, xs, others.map((r) => r.lower), others.map((r) => r.upper)), fill: color("other"), opacity: 0.16 }));
        svg.append(s("path", { d: line(X, Y, xs, others.map((r) => r.value)), fill: "none", stroke: color("other"), "stroke-width": 2.6, "stroke-dasharray": "10 4 2 4", class: "other" }));
      }
      if (perfect.length) svg.append(s("path", { d: line(X, Y, xs, perfect), fill: "none", stroke: color("perfect"), "stroke-width": 1.5, "stroke-dasharray": "1 4", "stroke-linecap": "round" }));
      // Each piece of the curve has the colour and dash of the verdict at its far end.
      for (let i = 1, from = 0; i < xs.length; i++) {
        const verdict = rows[i].verdict;
        if (i < xs.length - 1 && rows[i + 1].verdict === verdict) continue;
        svg.append(s("path", { d: line(X, Y, xs.slice(from, i + 1), rows.slice(from, i + 1).map((r) => r.value)), fill: "none",
          stroke: color(VERDICT_COLORS[verdict]), "stroke-width": 2.6, "stroke-dasharray": VERDICT_DASHES[verdict], class: "curve" }));
        from = i;
      }
      for (const p of points) {
        svg.append(s("line", { x1: X(p.at), x2: X(p.at), y1: Y(p.low), y2: Y(p.high), stroke: color("ink"), "stroke-width": 1.4 }));
        svg.append(s("circle", { cx: X(p.at), cy: Y(p.value), r: 4, fill: color("ink") }, s("title", {}, `measured at ${plain(p.at)}: ${measured(p.value)}`)));
      }
      if (at >= xs[0] && at <= xs.at(-1)) {
        svg.append(s("line", { x1: X(at), x2: X(at), y1: frame.top, y2: frame.bottom, stroke: color("accent"), "stroke-width": 1.2, opacity: 0.7 }));
        svg.append(s("circle", { id: live ? "now" : null, cx: X(at), cy: Y(now.value), r: 6.5, fill: color("card"), stroke: color("accent"), "stroke-width": 3 }));
      }
    },
  });
  const source = points.length ? "predicted" : "predicted from other configurations";
  const used = [...new Set(rows.slice(1).map((r) => r.verdict))];
  // The curve is that of its best verdict; what the others look like is said beside it.
  const predicted = RULES.verdicts.filter((v) => used.includes(v)).map((v, i) =>
    [lineMark(VERDICT_COLORS[v], VERDICT_DASHES[v]), i ? VERDICT_WORDS[v] : v === "ok" ? "predicted" : `predicted, ${VERDICT_WORDS[v]}`]);
  if (!live) return box.replaceChildren(svg, legend([...(points.length ? [[dotMark("ink"), "measured"]] : []), ...predicted,
    [boxMark("band", 0.3), `${plain(100 * PAGE.interval)} % interval`], ...(perfect.length ? [[lineMark("perfect", "1 4", 1.5), "perfect"]] : [])]));
  const entries = [
    ...RULES.verdicts.filter((v) => used.includes(v)).map((v) => [lineMark(VERDICT_COLORS[v], VERDICT_DASHES[v]), `${source}: ${v}`]),
    [boxMark("band", 0.3), `${plain(100 * PAGE.interval)} % interval`], ...(perfect.length ? [[lineMark("perfect", "1 4", 1.5), "perfect scaling"]] : []),
    ...(points.length ? [[dotMark("ink"), "measured: median, and range of repeats"]] : []),
    ...(others.length ? [[lineMark("other", "10 4 2 4"), `${nameOf(PAGE.groups[state.beside])}, with its interval`]] : []),
  ];
  box.replaceChildren(svg, legend(entries), picturing(id, "scaling.png"));
  text("scaling-heading", `Along the scale: ${heading}, predicted and measured`);
  text("scaling-note", points.length ? "" : "Nothing was run at these values: the whole curve is predicted.");
  const shown = keyOf(m) === "value" ? [] : [keyOf(m), `${keyOf(m)}_lower`, `${keyOf(m)}_upper`];
  put("scaling-table", saving("predictions.csv", [f.name, ...shown, QUANTITY.name, "lower", "upper", "verdict", "reason"],
    xs.map((c, i) => [c, ...(shown.length ? ["value", "lower", "upper"].map((n) => rows[i][n]) : []), raw[i].value, raw[i].lower, raw[i].upper, raw[i].verdict, raw[i].reason])),
    table(`Predictions along ${f.name}`, [f.name, heading, "from", "to", "verdict"],
    xs.map((c, i) => [+c.toPrecision(4), ...["value", "lower", "upper"].map((n) => people(rows[i][n])), rows[i].verdict]), { numbers: [1, 2, 3] }));
}

// One worker's work, relative to that at the first count.
function workAt(count) {
  const { counts, work } = sheet.path;
  return work[nearest(counts, count)];
}

function drawStack(xs) {
  const stack = xs.map((c) => parts(along(c)));
  const names = [...stack[0].terms.keys()].filter((n) => !PAGE.beside.includes(n));
  const largest = (n) => Math.max(...stack.map((p) => p.terms.get(n)));
  const ranked = names.slice().sort((a, b) => largest(b) - largest(a));
  const kept = names.filter((n) => ranked.indexOf(n) < 7);
  const small = names.filter((n) => !kept.includes(n));
  const layers = kept.map((n) => [n, stack.map((p) => Math.max(p.terms.get(n), 0))]);
  if (small.length) layers.push([small.length === 1 ? small[0] : `${small.length} smaller terms`, stack.map((p) => small.reduce((a, n) => a + Math.max(p.terms.get(n), 0), 0))]);
  // Of a throughput the seconds of one unit of its work mean nothing: the terms are shares of the time.
  const shared = !QUANTITY.ofSteps;
  layers.forEach((layer) => (layer[1] = layer[1].map((v, i) => (shared ? (100 * v) / stack[i].value : MEASURES.value.of(v)))));
  const totals = stack.map((p) => (shared ? 100 : MEASURES.value.of(p.value))), sums = xs.map((_, i) => layers.reduce((a, [, v]) => a + v[i], 0));
  const heading = shared ? "share of the time (%)" : headingOf(MEASURES.value);
  const box = $("stack"), f = sheet.factors[sheet.along];
  const largestAt = (i) => layers.reduce((best, l) => (l[1][i] > best[1][i] ? l : best));
  const shares = (i) => `'${largestAt(i)[0]}' with ${Math.round((100 * largestAt(i)[1][i]) / sums[i])} %`;
  const svg = chart(box.clientWidth, {
    x: axisX(xs), y: { label: heading, low: 0, high: Math.max(...totals, ...sums) * 1.05 },
    title: `The parts of ${QUANTITY.name} along ${f.name}: the largest part is ${shares(0)} at ${plain(xs[0])} and ${shares(xs.length - 1)} at ${plain(xs.at(-1))}.`,
    draw: (svg, X, Y, frame) => {
      let base = xs.map(() => 0);
      layers.forEach(([name, v], k) => {
        const top = base.map((b, i) => b + v[i]);
        svg.append(s("path", { d: area(X, Y, xs, base, top), fill: color(TERM_COLORS[k]), opacity: 0.9 }, s("title", {}, name)));
        svg.append(s("path", { d: line(X, Y, xs, top), fill: "none", stroke: color("card"), "stroke-width": 1 }));
        base = top;
      });
      svg.append(s("path", { d: line(X, Y, xs, totals), fill: "none", stroke: color("ink"), "stroke-width": 2 }));
      const at = state.x[sheet.along];
      if (at >= xs[0] && at <= xs.at(-1)) svg.append(s("line", { x1: X(at), x2: X(at), y1: frame.top, y2: frame.bottom, stroke: color("ink"), "stroke-width": 1, opacity: 0.6 }));
    },
  });
  box.replaceChildren(svg, legend([...layers.map(([n], k) => [boxMark(TERM_COLORS[k]), n]), [lineMark("ink"), QUANTITY.name]]), picturing("stack", "parts.png"));
  put("stack-table", table(`The part of each term along ${f.name}, ${heading}`, [f.name, ...layers.map(([n]) => n), QUANTITY.name],
    xs.map((c, i) => [+c.toPrecision(4), ...layers.map(([, v]) => +v[i].toPrecision(3)), +totals[i].toPrecision(4)])));
}

function drawEfficiency() {
  const { counts: xs, middle, lower, upper, knees, reference } = sheet.efficiency;
  const f = sheet.factors[sheet.along], box = $("efficiency");
  const high = Math.max(105, 105 * Math.max(...middle), Math.min(200, 100 * Math.max(...upper)) * 1.02);
  const per = (v) => v.map((e) => Math.min(100 * e, high));
  const svg = chart(box.clientWidth, {
    x: axisX(xs), y: { label: "efficiency (%)", low: 0, high },
    title: `Scaling efficiency along ${f.name}: ${Math.round(100 * middle.at(-1))} % at ${plain(xs.at(-1))}, relative to ${plain(reference)}.`,
    draw: (svg, X, Y) => {
      svg.append(s("path", { d: area(X, Y, xs, per(lower), per(upper)), fill: color("band"), opacity: 0.18 }));
      svg.append(s("line", { x1: X(xs[0]), x2: X(xs.at(-1)), y1: Y(100), y2: Y(100), stroke: color("perfect"), "stroke-dasharray": "1 4", "stroke-width": 1.5, "stroke-linecap": "round" }));
      svg.append(s("path", { d: line(X, Y, xs, per(middle)), fill: "none", stroke: color("band"), "stroke-width": 2.6 }));
      for (const [count, level] of knees)
        if (count <= xs.at(-1)) svg.append(s("circle", { cx: X(count), cy: Y(100 * level), r: 6, fill: color("blind") }, s("title", {}, `knee at ${plain(count)}`)));
    },
  });
  box.replaceChildren(svg, legend([[lineMark("band"), "efficiency"], [boxMark("band", 0.3), `${plain(100 * PAGE.interval)} % interval`],
    [lineMark("perfect", "1 4", 1.5), "perfect scaling"], ...(knees.some(([c]) => c <= xs.at(-1)) ? [[dotMark("blind"), "knee"]] : [])]), picturing("efficiency", "efficiency.png"));
  put("efficiency-table", table(`Efficiency along ${f.name}, relative to ${plain(reference)}`, [f.name, "efficiency (%)", "from", "to"],
    xs.map((c, i) => [+c.toPrecision(4), ...[middle, lower, upper].map((v) => +(100 * v[i]).toPrecision(3))])));
}

// A second group beside the first: the same configuration, both predictions, and which of them is better.
const besideSheet = () => (state.beside === null ? null : PAGE.groups[state.beside].sheet);

// The configuration of the first group in the factors of the second; what that does not know stays at its own place.
function carried(x, other) {
  const places = new Map(sheet.factors.map((f, i) => [f.name, i]));
  return other.factors.map((f, i) => {
    const value = x[places.get(f.name)];
    return value === undefined || f.numeric !== (typeof value === "number") || (!f.numeric && !f.levels.includes(value)) ? other.at[i] : value;
  });
}
function predictBeside(x) {
  const other = besideSheet(), there = carried(x, other);
  return [predictWith(engineOf(other), there), there, other];
}

function setUpBeside() {
  const usable = PAGE.groups.map((g, i) => [g, i]).filter(([g]) => whole(g));
  if (usable.length < 2) return;
  const select = $("beside");
  select.addEventListener("change", () => {
    state.beside = select.value === "" ? null : +select.value;
    showBeside();
    remember();
    drawFigures();
  });
}
function fillBeside() {
  const select = $("beside");
  if (!select) return;
  if (state.beside === state.group) state.beside = null;
  const others = PAGE.groups.map((g, i) => [g, i]).filter(([g, i]) => whole(g) && i !== state.group);
  select.replaceChildren(h("option", { value: "", selected: state.beside === null }, "no other"),
    ...others.map(([g, i]) => h("option", { value: i, selected: i === state.beside }, nameOf(g))));
}

function showBeside() {
  const box = $("beside-result");
  if (!box) return;
  box.hidden = state.beside === null;
  if (state.beside === null) return;
  const [raw, there, other] = predictBeside(state.x), m = sharedMeasure(other);
  const rows = [[PAGE.groups[state.group], inMeasure(predict(state.x), state.x, sheet, m)], [PAGE.groups[state.beside], inMeasure(raw, there, other, m)]];
  const [a, b] = rows.map(([, r]) => r), best = m.falls ? (a.value >= b.value ? 0 : 1) : a.value <= b.value ? 0 : 1;
  const [first, second] = best === 0 ? [rows[0], rows[1]] : [rows[1], rows[0]];
  const ratio = 100 * (Math.max(a.value, b.value) / Math.min(a.value, b.value) - 1);
  const overlap = a.lower <= b.upper && b.lower <= a.upper;
  // By how much the better one has less, or gives more.
  const less = 100 * (1 - Math.min(a.value, b.value) / Math.max(a.value, b.value));
  const share = (v) => `${people(+v.toPrecision(3))} %`, takesTime = m === MEASURES.duration || (m === MEASURES.value && QUANTITY.isTime);
  const more = m.falls ? `gives ${share(ratio)} more ${m.label}` : m === MEASURES.cost ? `costs ${share(less)} less`
    : takesTime ? `takes ${share(less)} less time` : `has ${share(less)} less ${m.label}`;
  put("beside-result", h("h3", {}, "Side by side, at this configuration"),
    h("p", { id: "beside-sentence" }, `${nameOf(first[0])} ${more} than ${nameOf(second[0])}${overlap ? "; likely, not certain: the intervals overlap" : ""}.`),
    table("Both groups at this configuration", ["group", headingOf(m), "from", "to", "verdict"],
      rows.map(([g, r]) => [nameOf(g), ...["value", "lower", "upper"].map((k) => people(r[k])), chip(r.verdict)]), { numbers: [1, 2, 3] }));
}
// The measure that is shown where both groups have it, else the predicted value itself.
const sharedMeasure = (other) => (measure().known(other) ? measure() : MEASURES.value);
