// The page: picks a group, answers, and draws what the sliders ask for.
"use strict";

const PAGE = JSON.parse(document.getElementById("data").textContent);
const RULES = PAGE.rules;
const $ = (id) => document.getElementById(id);
const state = { group: 0, x: [], linked: new Set() };
let sheet = null, engine = null;

const seconds = (v) => `${plain(+v.toPrecision(4))} s`;
const nameOf = (group) => group.key.join(" · ");
const chip = (verdict) => h("span", { class: `chip ${verdict}` }, verdict);
const numeric = (f) => f.numeric;
// A number stays on the line of its unit.
const tidy = (words) => words.replace(/ %/g, "\u00a0%").replace(/(\d) (s|GB|MB)\b/g, "$1\u00a0$2");
const text = (id, value) => ($(id).textContent = value);
const put = (id, ...children) => $(id).replaceChildren(...children.flat().filter((c) => c));

// ---------------------------------------------------------------- predictions

// Without an engine, predictions are those written down at the counts of the slider.
function predict(x) {
  if (engine) return engine.predict(x);
  const i = sheet.path ? Math.max(0, sheet.path.counts.indexOf(x[sheet.along])) : 0;
  const [verdict, reason] = judged(sheet, x, sheet.stops.logWidth[i]);
  return { time: sheet.stops.time[i], lower: sheet.stops.lower[i], upper: sheet.stops.upper[i], verdict, reason };
}

function parts(x) {
  if (engine) return engine.parts(x);
  const i = sheet.path ? Math.max(0, sheet.path.counts.indexOf(x[sheet.along])) : 0;
  return { time: sheet.stops.time[i], seconds: new Map(Object.entries(sheet.stops.terms).map(([k, v]) => [k, v[i]])) };
}

// The configuration with the count of workers set, and what follows it unless it was set by hand.
function along(count, x = state.x) {
  const out = x.slice();
  out[sheet.along] = count;
  const { counts, follow } = sheet.path;
  for (const [place, values] of Object.entries(follow)) {
    if (!state.linked.has(+place)) continue;
    const last = counts.length - 1;
    let i = counts.findIndex((c) => c >= count);
    if (i < 0) i = last;
    let value = values[i];
    if (counts[i] !== count && i > 0) {
      const part = (Math.log(count) - Math.log(counts[i - 1])) / (Math.log(counts[i]) - Math.log(counts[i - 1]));
      value = values[i - 1] + part * (values[i] - values[i - 1]);
      if (sheet.factors[place].integer) value = Math.ceil(value - 1e-9);
    }
    out[place] = value;
  }
  return derived(out);
}

function derived(x) {
  if (engine) for (const [place, f] of engine.derived) if (state.linked.has(place)) x[place] = FORMULAS[f](x);
  return x;
}

// ---------------------------------------------------------------- controls

function stopsOf(f, place) {
  if (place === sheet.along) return sheet.path.counts;
  const measured = f.measured.length ? f.measured : [f.lower, f.upper];
  const out = new Set(measured);
  if (f.positive) {
    for (let v = f.lower / 4; v <= f.upper * 4.0001; v *= 2 ** 0.125) {
      const stop = f.integer ? Math.round(v) : +v.toPrecision(3);
      if (stop >= (f.integer ? 1 : 0)) out.add(stop);
    }
  } else {
    const width = f.upper - f.lower || 1;
    for (let k = -16; k <= 48; k++) {
      const v = f.lower + (k / 32) * width;
      out.add(f.integer ? Math.round(v) : +v.toPrecision(6));
    }
  }
  return [...out].sort((a, b) => a - b);
}

const nearest = (stops, value) =>
  stops.reduce((best, v, i) => (Math.abs(v - value) < Math.abs(stops[best] - value) ? i : best), 0);

function control(f, place) {
  const id = `factor-${place}`, only = f.distinct <= 1;
  const held = !engine && place !== sheet.along;
  if (only || held) {
    const why = only ? "the only value measured" : "held here: a report of this group alone moves it too";
    const value = h("span", { class: "fixed", id }, String(f.numeric ? plain(state.x[place]) : state.x[place]));
    return h("div", { class: "control" }, h("span", { class: "label" }, f.name), value, " ", h("span", { class: "note" }, `(${why})`));
  }
  if (!f.numeric) {
    const select = h("select", { id, onchange: (e) => { state.x[place] = e.target.value; moved(); } },
      f.levels.map((level) => h("option", { value: level, selected: level === state.x[place] }, level)));
    return h("div", { class: "control" }, h("label", { for: id }, f.name), select);
  }
  const stops = stopsOf(f, place);
  const hint = `${id}-hint`;
  const range = h("input", {
    id, type: "range", min: 0, max: stops.length - 1, step: 1, value: nearest(stops, state.x[place]), "aria-describedby": hint,
    "aria-valuetext": plain(state.x[place]), oninput: (e) => set(place, stops[+e.target.value], "range"),
  });
  const typed = engine && h("input", {
    id: `${id}-value`, type: "number", step: "any", value: state.x[place], "aria-label": `${f.name}, exact value`,
    onchange: (e) => {
      const value = e.target.valueAsNumber;
      if (Number.isFinite(value) && !(f.positive && value <= 0)) set(place, value, "typed");
      else e.target.value = state.x[place];
    },
  });
  const output = typed || h("output", { id: `${id}-value`, for: id, class: "fixed" }, plain(state.x[place]));
  const follows = sheet.path && String(place) in sheet.path.follow ? `; follows ${sheet.factors[sheet.along].name} until it is moved` : "";
  return h("div", { class: "control" }, h("label", { for: id }, f.name), h("div", { class: "row" }, range, output),
    h("p", { class: "note", id: hint }, `measured from ${plain(f.lower)} to ${plain(f.upper)}${follows}`));
}

function set(place, value) {
  if (place === sheet.along) state.x = along(value);
  else {
    state.linked.delete(place);
    state.x[place] = value;
    derived(state.x);
  }
  moved();
}

function showControls() {
  sheet.factors.forEach((f, place) => {
    const value = state.x[place], range = $(`factor-${place}`), typed = $(`factor-${place}-value`);
    if (!range || range.type !== "range") return;
    const stops = stopsOf(f, place);
    range.value = nearest(stops, value);
    range.setAttribute("aria-valuetext", plain(value));
    if (typed.tagName === "INPUT") typed.value = value;
    else typed.textContent = plain(value);
  });
}

let waiting = 0;
function moved() {
  showControls();
  showResult();
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(drawFigures);
}

function showResult() {
  const found = predict(state.x);
  const near = sheet.measured.find((m) => sheet.factors.every((f, i) => (f.numeric ? +m[i] === +state.x[i] : m[i] === state.x[i])));
  const k = sheet.factors.length;
  put("result",
    h("div", {}, h("p", { class: "time", id: "time", "data-value": found.time }, seconds(found.time)),
      h("p", { id: "interval", "data-lower": found.lower, "data-upper": found.upper },
        `${plain(100 * PAGE.interval)} % interval: ${seconds(found.lower)} to ${seconds(found.upper)}`),
      near ? h("p", { class: "reason" }, `Measured here: ${seconds(near[k])} (median of ${near[k + 3]}).`) : null),
    h("div", {}, h("p", { id: "verdict" }, chip(found.verdict)), h("p", { class: "reason", id: "reason" }, found.reason)));
}

// ---------------------------------------------------------------- figures

function curve() {
  const { counts, drawn } = sheet.path;
  const xs = drawn.map((i) => counts[i]);
  const rows = xs.map((count) => (engine ? predict(along(count)) : predict(along(count, sheet.at))));
  return { xs, rows };
}

const constantAlong = (place) => place !== sheet.along && !(String(place) in sheet.path.follow);

function measuredHere() {
  const k = sheet.factors.length;
  return sheet.measured
    .filter((m) => sheet.factors.every((f, i) => !constantAlong(i) || (f.numeric ? +m[i] === +state.x[i] : m[i] === state.x[i])))
    .map((m) => ({ at: m[sheet.along], time: m[k], low: m[k + 1], high: m[k + 2] }));
}

function drawFigures() {
  for (const id of ["scaling", "stack", "efficiency"]) $(`${id}-card`).hidden = sheet.along === null;
  if (sheet.along === null) return drawOnePlace();
  const { xs, rows } = curve();
  drawScaling(xs, rows);
  drawStack(xs);
  drawEfficiency();
}

// Where no factor counts the workers: the terms at the one configuration, as a table.
function drawOnePlace() {
  const { time, seconds: terms } = parts(state.x);
  $("stack-card").hidden = false;
  put("stack", table("Seconds of each term at the configuration above", ["term", "seconds", "share (%)"],
    [...terms].map(([name, v]) => [name, +v.toPrecision(4), +((100 * v) / time).toPrecision(3)])));
}

const axisX = (xs) => ({ label: sheet.factors[sheet.along].name, low: Math.min(...xs), high: Math.max(...xs), log: true, base: 2 });

function drawScaling(xs, rows) {
  const f = sheet.factors[sheet.along], points = measuredHere(), now = predict(state.x), at = state.x[sheet.along];
  const perfect = xs.map((c, i) => rows[0].time * workAt(c) / workAt(xs[0]));
  const values = [...rows.flatMap((r) => [r.lower, r.upper]), ...points.flatMap((p) => [p.low, p.high]), ...perfect];
  const box = $("scaling");
  const svg = chart(box.clientWidth, {
    x: axisX(xs), y: { label: "time (s)", low: Math.min(...values) / 1.06, high: Math.max(...values) * 1.06, log: true },
    title: `Time along ${f.name}: ${rows.length} predictions from ${seconds(rows[0].time)} at ${plain(xs[0])} to ` +
      `${seconds(rows.at(-1).time)} at ${plain(xs.at(-1))}, and ${points.length} measured configurations. Numbers are in the table below.`,
    draw: (svg, X, Y, frame) => {
      if (f.upper < xs.at(-1)) {
        svg.append(s("rect", { x: frame.left, y: frame.top, width: Math.max(0, X(f.upper) - frame.left), height: frame.bottom - frame.top, fill: color("perfect"), opacity: 0.07 }));
        svg.append(s("text", { x: Math.max(frame.left + 54, X(f.upper) - 6), y: frame.top + 13, "text-anchor": "end" }, "measured"));
      }
      svg.append(s("path", { d: area(X, Y, xs, rows.map((r) => r.lower), rows.map((r) => r.upper)), fill: color("band"), opacity: 0.18 }));
      svg.append(s("path", { d: line(X, Y, xs, perfect), fill: "none", stroke: color("perfect"), "stroke-width": 1.5, "stroke-dasharray": "1 4", "stroke-linecap": "round" }));
      // Each piece of the curve has the colour and dash of the verdict at its far end.
      for (let i = 1, from = 0; i < xs.length; i++) {
        const verdict = rows[i].verdict;
        if (i < xs.length - 1 && rows[i + 1].verdict === verdict) continue;
        svg.append(s("path", { d: line(X, Y, xs.slice(from, i + 1), rows.slice(from, i + 1).map((r) => r.time)), fill: "none",
          stroke: color(VERDICT_COLORS[verdict]), "stroke-width": 2.6, "stroke-dasharray": VERDICT_DASHES[verdict], class: "curve" }));
        from = i;
      }
      for (const p of points) {
        svg.append(s("line", { x1: X(p.at), x2: X(p.at), y1: Y(p.low), y2: Y(p.high), stroke: color("ink"), "stroke-width": 1.4 }));
        svg.append(s("circle", { cx: X(p.at), cy: Y(p.time), r: 4, fill: color("ink") }, s("title", {}, `measured at ${plain(p.at)}: ${seconds(p.time)}`)));
      }
      if (at >= xs[0] && at <= xs.at(-1)) {
        svg.append(s("line", { x1: X(at), x2: X(at), y1: frame.top, y2: frame.bottom, stroke: color("accent"), "stroke-width": 1.2, opacity: 0.7 }));
        svg.append(s("circle", { id: "now", cx: X(at), cy: Y(now.time), r: 6.5, fill: color("card"), stroke: color("accent"), "stroke-width": 3 }));
      }
    },
  });
  const used = [...new Set(rows.slice(1).map((r) => r.verdict))];
  const entries = [
    ...RULES.verdicts.filter((v) => used.includes(v)).map((v) => [lineMark(VERDICT_COLORS[v], VERDICT_DASHES[v]), `predicted: ${v}`]),
    [boxMark("band", 0.3), `${plain(100 * PAGE.interval)} % interval`], [lineMark("perfect", "1 4", 1.5), "perfect scaling"],
    ...(points.length ? [[dotMark("ink"), "measured: median, and range of repeats"]] : []),
  ];
  box.replaceChildren(svg, legend(entries));
  put("scaling-table", table(`Predicted times along ${f.name}`, [f.name, "time (s)", "from", "to", "verdict"],
    xs.map((c, i) => [+c.toPrecision(4), ...["time", "lower", "upper"].map((n) => +rows[i][n].toPrecision(4)), rows[i].verdict])));
}

// One worker's work, relative to that at the first count.
function workAt(count) {
  const { counts, work } = sheet.path;
  return work[nearest(counts, count)];
}

function drawStack(xs) {
  const found = xs.map((c) => parts(engine ? along(c) : along(c, sheet.at)));
  const names = [...found[0].seconds.keys()].filter((n) => !PAGE.beside.includes(n));
  const largest = (n) => Math.max(...found.map((p) => p.seconds.get(n)));
  const ranked = names.slice().sort((a, b) => largest(b) - largest(a));
  const kept = names.filter((n) => ranked.indexOf(n) < 7);
  const rest = names.filter((n) => !kept.includes(n));
  const layers = kept.map((n) => [n, found.map((p) => Math.max(p.seconds.get(n), 0))]);
  if (rest.length) layers.push([`${rest.length} smaller terms`, found.map((p) => rest.reduce((a, n) => a + Math.max(p.seconds.get(n), 0), 0))]);
  const totals = found.map((p) => p.time), sums = xs.map((_, i) => layers.reduce((a, [, v]) => a + v[i], 0));
  const box = $("stack"), f = sheet.factors[sheet.along];
  const largestAt = (i) => layers.reduce((best, l) => (l[1][i] > best[1][i] ? l : best));
  const shares = (i) => `'${largestAt(i)[0]}' with ${Math.round((100 * largestAt(i)[1][i]) / sums[i])} %`;
  const svg = chart(box.clientWidth, {
    x: axisX(xs), y: { label: "time (s)", low: 0, high: Math.max(...totals, ...sums) * 1.05 },
    title: `What the time is made of along ${f.name}: the largest part is ${shares(0)} at ${plain(xs[0])} and ${shares(xs.length - 1)} at ${plain(xs.at(-1))}.`,
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
  box.replaceChildren(svg, legend([...layers.map(([n], k) => [boxMark(TERM_COLORS[k]), n]), [lineMark("ink"), "time"]]));
  put("stack-table", table(`Seconds of each term along ${f.name}`, [f.name, ...layers.map(([n]) => n), "time"],
    xs.map((c, i) => [+c.toPrecision(4), ...layers.map(([, v]) => +v[i].toPrecision(3)), +totals[i].toPrecision(4)])));
}

function drawEfficiency() {
  const { counts: xs, middle, lower, upper, knees, reference } = sheet.efficiency;
  const f = sheet.factors[sheet.along], box = $("efficiency");
  const high = Math.max(105, Math.min(200, 100 * Math.max(...upper)) * 1.02);
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
    [lineMark("perfect", "1 4", 1.5), "perfect scaling"], ...(knees.some(([c]) => c <= xs.at(-1)) ? [[dotMark("blind"), "knee"]] : [])]));
  put("efficiency-table", table(`Efficiency along ${f.name}, relative to ${plain(reference)}`, [f.name, "efficiency (%)", "from", "to"],
    xs.map((c, i) => [+c.toPrecision(4), ...[middle, lower, upper].map((v) => +(100 * v[i]).toPrecision(3))])));
}

// ---------------------------------------------------------------- a group

function show(index) {
  state.group = index;
  const group = PAGE.groups[index];
  const failed = group.failed;
  $("sheet").hidden = Boolean(failed);
  put("failed", failed ? h("p", {}, `This group could not be fitted: ${failed}`) : null);
  if (failed) return;
  sheet = group.sheet;
  engine = sheet.engine ? new Engine(sheet.engine, sheet.factors, sheet.judging) : null;
  state.x = sheet.at.slice();
  state.linked = new Set([...Object.keys(sheet.path ? sheet.path.follow : {}).map(Number), ...(engine ? engine.derived.map(([p]) => p) : [])]);
  showAnswers();
  // The scale first, then what follows it, then the others.
  const rank = (i) => (i === sheet.along ? 0 : state.linked.has(i) ? 1 : sheet.factors[i].distinct > 1 ? 2 : 3);
  const order = sheet.factors.map((_, i) => i).sort((a, b) => rank(a) - rank(b) || a - b);
  put("controls", order.map((i) => control(sheet.factors[i], i)));
  text("where", whereText());
  showTables();
  showResult();
  drawFigures();
}

function whereText() {
  const held = sheet.factors.map((f, i) => [f, i]).filter(([f, i]) => f.distinct > 1 && (sheet.along === null || constantAlong(i)))
    .map(([f, i]) => `${f.name} ${f.numeric ? plain(sheet.at[i]) : sheet.at[i]}`);
  return held.length ? `The answers above, and the efficiency, are for ${held.join(", ")}.` : "";
}

function showAnswers() {
  put("answers", sheet.answers.map((a) =>
    h("article", { class: "card answer" }, h("h2", {}, a.question), h("p", { class: "short" }, tidy(a.short)),
      a.verdict ? chip(a.verdict) : null, a.said.map((p) => h("p", {}, tidy(p))))));
}

function showTables() {
  const { facts } = sheet;
  const several = sheet.members.length > 1;
  text("formula", `T = ${sheet.formula}`);
  put("members", several ? [h("p", { class: "note" }, "The heaviest member is shown above; the prediction weighs all of them:"),
    table("Members of the ensemble", ["member", "weight (%)"], sheet.members.map(([n, w]) => [n, +(100 * w).toPrecision(3)]))] : null);
  put("constants", table(`Constants with ${plain(100 * PAGE.interval)} % intervals`,
    [...(several ? ["member"] : []), "constant", "value", "from", "to", "unit", "state"],
    sheet.constants.map((r) => (several ? r : r.slice(1)))));
  put("checked", sheet.evidence.length ? table("Predicting the largest measured scale from the smaller ones: mean error (%)",
    ["factor", "scale", "this model", "'as at the largest scale before'"], sheet.evidence) : null);
  const noise = facts.noise === null ? "unknown: nothing was repeated" : `${plain(100 * facts.noise)} %`;
  const error = facts.metrics.mape;
  const pairs = [["rows", facts.rows], ["configurations", facts.configurations], ["rows rejected", facts.rejected],
    ["noise between repeats", noise], [`time (column ${facts.time})`, `${seconds(facts.shortest)} to ${seconds(facts.longest)}`],
    ["mean error on these rows", error === null || error === undefined ? "–" : `${plain(+error.toPrecision(3))} %`]];
  put("facts", pairs.flatMap(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, String(v)))));
  put("factors", table("Factors", ["factor", "role", "from", "to", "values", "levels"], sheet.factors.map((f) =>
    [f.name, f.role, f.numeric ? f.lower : null, f.numeric ? f.upper : null, f.distinct, f.levels.slice(0, 12).join(", ") + (f.levels.length > 12 ? ", …" : "")])));
  put("notes", sheet.notes.length ? h("ul", { class: "notes" }, sheet.notes.map((n) => h("li", {}, n))) : null);
  const options = Object.entries(facts.options).map(([k, v]) => `${k} ${v}`);
  put("method", [["model", sheet.model], ["seed", facts.seed], ["options", options.join(", ") || "–"], ["SHA-256 of the data", facts.sha256 || "–"]]
    .map(([k, v]) => h("div", {}, h("dt", {}, k), h("dd", {}, String(v)))));
}

// ---------------------------------------------------------------- groups

function setUpPicker() {
  if (PAGE.groups.length < 2) return;
  const select = $("group"), search = $("search");
  const fill = () => {
    const wanted = search.value.trim().toLowerCase();
    const kept = PAGE.groups.map((g, i) => [nameOf(g), i]).filter(([n]) => n.toLowerCase().includes(wanted));
    select.replaceChildren(...kept.map(([n, i]) => h("option", { value: i, selected: i === state.group }, n)));
    text("found", wanted ? `${kept.length} of ${PAGE.groups.length}` : `${PAGE.groups.length} groups`);
    if (kept.length && !kept.some(([, i]) => i === state.group)) show(kept[0][1]);
  };
  search.addEventListener("input", fill);
  select.addEventListener("change", () => show(+select.value));
  fill();
  const rows = PAGE.groups.map((g, i) => [
    h("button", { class: "link", type: "button", onclick: () => { search.value = ""; state.group = i; fill(); show(i); $("top").scrollIntoView(); } }, nameOf(g)),
    ...(g.failed ? [g.failed, "", "", "", null] : [...g.sheet.answers.map((a) => a.short), g.sheet.facts.metrics.mape ?? null]),
  ]);
  put("overview", table("All groups; choose one to see it", ["group", ...PAGE.questions, "mean error (%)"], rows));
}

function showValidation() {
  const { validation } = PAGE;
  if (!validation) return;
  if (validation.why) return put("validation", h("p", { class: "note" }, validation.why));
  const rows = validation.rows.map((r) => [r[0], ...r.slice(1, 6), r[6]]);
  const errors = rows.map((r) => (r[1] === null ? Infinity : r[1]));
  put("validation",
    h("p", { class: "note" }, `${validation.configurations} configurations were held out (${validation.scheme}) and predicted from the rest.`),
    table(`Errors on held-out configurations, in %; intervals of ${plain(100 * validation.interval)} %`,
      ["model", "median error", "mean error", "interval covers", "interval width", "predicted", ""], rows,
      { best: errors.indexOf(Math.min(...errors)) }),
    validation.notes.length ? h("ul", { class: "notes" }, validation.notes.map((n) => h("li", {}, n))) : null);
}

show(Math.max(0, PAGE.groups.findIndex((g) => !g.failed)));
setUpPicker();
showValidation();
new ResizeObserver(() => {
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => sheet && drawFigures());
}).observe($("sheet"));
addEventListener("beforeprint", () => document.querySelectorAll("#sheet details").forEach((d) => (d.open = false)));
document.documentElement.dataset.ready = "yes";
