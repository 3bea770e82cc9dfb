// The page's state in its address, after the #: a link shows the same group, configuration and order.

// Write down what differs from the page as it opens.
function remember() {
  const words = new URLSearchParams(), group = PAGE.groups[state.group];
  if (state.group) for (const part of group.key) words.append("group", part);
  if (sheet && whole(group)) sheet.factors.forEach((f, i) => {
    if (state.x[i] !== sheet.at[i]) words.append(`at.${f.name}`, state.x[i]);
  });
  if (state.sort) words.append("sort", state.sort.join(","));
  if (state.measure && state.measure !== QUANTITY.first) words.append("show", state.measure);
  if (state.beside !== null) for (const part of PAGE.groups[state.beside].key) words.append("beside", part);
  for (const key of ["price", "size"]) if (JOB[key] !== PAGE.job[key]) words.append(key, JOB[key] || "");
  for (const name of Object.keys(CAPACITY)) if (CAPACITY[name] !== PAGE.capacity[name]) words.append(`capacity.${name}`, CAPACITY[name] || "");
  const wanted = words.toString();
  if (wanted !== location.hash.slice(1)) history.replaceState(null, "", `#${wanted}`);
}

// Show what the address says; what it says wrongly is left aside.
function recall() {
  const words = new URLSearchParams(location.hash.slice(1)), key = words.getAll("group").join("\n");
  const index = PAGE.groups.findIndex((g) => g.key.join("\n") === key);
  const [column, sign] = (words.get("sort") || "").split(",").map(Number);
  for (const name of ["price", "size"]) {
    const given = words.get(name);
    JOB[name] = given === null || Number.isNaN(+given) || +given < 0 ? PAGE.job[name] : +given || null;
    if ($(`job-${name}`)) $(`job-${name}`).value = JOB[name] ? compact(JOB[name]) : "";
  }
  for (const name of Object.keys(CAPACITY)) {
    const given = words.get(`capacity.${name}`);
    CAPACITY[name] = given === null || Number.isNaN(+given) || +given < 0 ? PAGE.capacity[name] : +given || null;
    $(`capacity-${name}`).value = CAPACITY[name] ? compact(CAPACITY[name]) : "";
  }
  state.measure = words.get("show") in MEASURES ? words.get("show") : null;
  const other = words.getAll("beside").join("\n");
  const beside = PAGE.groups.findIndex((g) => whole(g) && words.has("beside") && g.key.join("\n") === other);
  state.beside = beside < 0 ? null : beside;
  state.sort = groupColumns()[column] && Math.abs(sign) === 1 ? [column, sign] : null;
  choose(Math.max(0, index), words);
}

// Set the configuration that an address names: the scale first, since others follow it.
function configure(words) {
  const order = sheet.factors.map((_, i) => i).sort((a, b) => (b === sheet.along) - (a === sheet.along) || a - b);
  for (const i of order) {
    const f = sheet.factors[i], given = words.get(`at.${f.name}`);
    if (given === null) continue;
    const value = f.numeric ? Number(given) : given;
    if (f.numeric ? !Number.isFinite(value) || (f.positive && value <= 0) : !f.levels.includes(value)) continue;
    if (i === sheet.along) state.x = along(value);
    else if (state.x[i] !== value) {
      state.linked.delete(i);
      state.x[i] = value;
    }
  }
  derived(state.x);
}

// The page: picks a group, shows its answers, and draws the figures at the sliders' configuration.
const $ = (id) => document.getElementById(id);
const state = { group: 0, x: [], linked: new Set(), sort: null, measure: null, beside: null };
let sheet = null, engine = null;

const nameOf = (group) => group.name;
const chip = (verdict) => h("span", { class: `chip ${verdict}` }, verdict);
// A number stays on the line of its unit.
const UNIT = new RegExp(`(\\d) (%|${QUANTITY.unit.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") || "%"})(?!\\w)`, "g");
const tidy = (words) => words.replace(UNIT, (_, digit, unit) => `${digit}\u00a0${unit}`).replace(/(\d) – (?=\d)/g, "$1\u00a0–\u00a0");
const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}.`;
const text = (id, value) => ($(id).textContent = value);
const put = (id, ...children) => $(id).replaceChildren(...children.flat().filter((c) => c));

// ---------------------------------------------------------------- predictions

// Value, interval and verdict at a configuration.
const predict = (x) => predictWith(engine, x);
function predictWith(e, x) {
  const { time: value, ...interval } = e.predict(x);
  return { value, ...interval };
}

// The predicted value and the part of each term in it.
function parts(x) {
  const { time: value, seconds: terms } = engine.parts(x);
  return { value, terms };
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
  for (const [place, f] of engine.derived) if (state.linked.has(place)) x[place] = FORMULAS[f](x);
  return x;
}

// ---------------------------------------------------------------- controls

function stopsOf(f, place) {
  if (place === sheet.along) return sheet.path.counts;
  const measured = f.measured.length ? f.measured : [f.lower, f.upper];
  const out = new Set(measured);
  if (f.positive) {
    // Also as far as it follows the scale.
    const last = Math.max(f.upper * 4.0001, ...((sheet.path && sheet.path.follow[place]) || []));
    for (let v = f.lower / 4; v <= last; v *= 2 ** 0.125) {
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
  const id = `factor-${place}`, linked = Boolean(sheet.path) && String(place) in sheet.path.follow;
  if (f.distinct <= 1 && !linked && place !== sheet.counted) {
    const value = h("span", { class: "fixed", id }, String(f.numeric ? compact(state.x[place]) : state.x[place]));
    return h("div", { class: "control" }, h("span", { class: "label" }, f.name), value, " ", h("span", { class: "note" }, "(the only value measured)"));
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
  const typed = h("input", {
    id: `${id}-value`, type: "text", inputmode: "decimal", autocomplete: "off", value: compact(state.x[place]),
    title: String(state.x[place]), "aria-label": `${f.name}, exact value`,
    onfocus: (e) => (e.target.value = state.x[place]), onblur: (e) => (e.target.value = compact(state.x[place])),
    onchange: (e) => {
      const value = readNumber(e.target.value);
      if (Number.isFinite(value) && !(f.positive && value <= 0)) set(place, value, "typed");
      else e.target.value = state.x[place];
    },
  });
  const follows = linked ? `; follows ${sheet.factors[sheet.along].name} until it is moved` : "";
  return h("div", { class: "control" }, h("label", { for: id }, f.name), h("div", { class: "row" }, range, typed),
    h("p", { class: "note", id: hint }, `measured ${f.distinct > 1 ? `from ${compact(f.lower)} to ${compact(f.upper)}` : `at ${compact(f.lower)} only`}${follows}`));
}

function set(place, value) {
  if (place === sheet.along) state.x = along(value);
  else {
    state.linked.delete(place);
    state.x[place] = value;
    splitFollows(state.x, place);
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
    typed.value = typed === document.activeElement ? value : compact(value);
    typed.title = String(value);
  });
}

let waiting = 0;
function moved() {
  showControls();
  showResult();
  showBeside();
  remember();
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(() => { showSplits(); drawFigures(); });
}

function showResult() {
  const raw = predict(state.x), predicted = inMeasure(raw, state.x), m = measure();
  const here = measuredAt(sheet, state.x);
  const k = sheet.factors.length;
  put("result",
    h("div", {}, h("p", { class: "label" }, m.heading ? m.heading() : m.label),
      h("p", { class: "value", id: "value", "data-value": raw.value, "data-shown": predicted.value }, measured(predicted.value)),
      h("p", { id: "interval", "data-lower": raw.lower, "data-upper": raw.upper },
        `${plain(100 * PAGE.interval)} % interval: ${people(predicted.lower)} to ${measured(predicted.upper)}`),
      here ? h("p", { class: "reason" }, `Measured here: ${measured(m.of(here[k], state.x, sheet))} (${repeatsText(here[k + 3])}).`) : null,
      keepsText(QUANTITY.name, QUANTITY.unit, raw),
      h("p", { class: "reason", id: "job-result" }, jobText(raw, state.x))),
    h("div", {}, h("p", { id: "verdict" }, chip(predicted.verdict)), h("p", { class: "fails", id: "fits" }, fitsText(fitsAt(sheet.feasibility, state.x))),
      h("p", { class: "reason", id: "reason" }, predicted.reason)),
    ...furtherResult(state.x));
}

const repeatsText = (count) => (count === 1 ? "one run" : `median of ${count} runs`);

// ---------------------------------------------------------------- a group

function show(index, words = new URLSearchParams()) {
  state.group = index;
  const group = PAGE.groups[index];
  $("sheet").hidden = !whole(group);
  put("failed", whole(group) ? null : h("p", {}, group.failed ? `This group is not shown: ${group.failed}` : ["The table above has what is predicted for this group; ",
    h("code", {}, `genperf report MODEL --only '${group.key.join(",")}'`), " answers the rest."]));
  if (!whole(group)) return;
  sheet = group.sheet;
  text("first", (PAGE.groups.length > 1 ? `${nameOf(group)}: ` : "") + tidy(sheet.glance.decision));
  engine = engineOf(sheet);
  state.x = sheet.at.slice();
  state.linked = new Set([...Object.keys(sheet.path ? sheet.path.follow : {}).map(Number), ...engine.derived.map(([p]) => p)]);
  configure(words);
  showGlance();
  showAnswers();
  // The scale first, then what follows it, then the others.
  const rank = (i) => (i === sheet.along ? 0 : state.linked.has(i) ? 1 : sheet.factors[i].distinct > 1 ? 2 : 3);
  const order = sheet.factors.map((_, i) => i).sort((a, b) => rank(a) - rank(b) || a - b);
  put("controls", order.map((i) => control(sheet.factors[i], i)));
  text("about", aboutText());
  showSwitch();
  fillBeside();
  showTables();
  showResult();
  showBeside();
  showSplits();
  drawFigures();
}

// What the cards are about: they are computed once, for one configuration.
function aboutText() {
  const constant = sheet.factors.map((f, i) => [f, i]).filter(([f]) => f.distinct > 1)
    .map(([f, i]) => `${f.name}=${f.numeric ? compact(sheet.at[i]) : sheet.at[i]}`);
  const what = QUANTITY.isTime ? "These answers, and the efficiency below, are" : "These answers are";
  return constant.length ? `${what} for ${constant.join(", ")}. The sliders do not change them.` : "";
}

// The card of `ask`: the same facts and words as on a terminal.
function showGlance() {
  const { taken, heads, rows, why, fits, record, next } = sheet.glance, { verdict } = sheet.summary, count = sheet.notes.length;
  put("glance-table", h("table", {}, taken ? h("caption", {}, taken) : [], h("thead", {}, h("tr", {}, ["", sheet.summary.at, ...heads].map((head) => h("th", { scope: "col", class: "number" }, head)))),
    h("tbody", {}, rows.map(([name, ...cells]) => h("tr", {}, h("td", {}, name), cells.map((cell) => h("td", { class: "number" }, cell)))))));
  put("glance-verdict", h("p", {}, chip(verdict), " ", tidy(why)), fits ? h("p", { class: "fails" }, sentence(fits)) : null,
    record ? h("p", { class: "note" }, sentence(tidy(record))) : null, next ? h("p", {}, h("strong", {}, "Next: "), tidy(next)) : null);
  text("noted", count ? `${count} note${count > 1 ? "s" : ""} on the data` : "");
  const [head, ...steps] = sheet.ladder.length ? [sheet.ladder[0], ...sheet.ladder[1]] : [[]];
  $("ladder-card").hidden = !steps.length;
  put("ladder", table("What was measured, and beyond it what is predicted (in italics)", head, steps, { numbers: head.map((_, j) => j).filter((j) => j !== 1) }));
  $("ladder").querySelectorAll("tbody tr").forEach((row, i) => row.classList.toggle("predicted", !/ runs?$/.test(steps[i][1])));
}

function showAnswers() {
  put("answers", sheet.answers.map((a) =>
    h("details", { class: "answer" }, h("summary", {}, h("h2", {}, a.question), h("span", { class: "short" }, tidy(a.short)), a.verdict ? chip(a.verdict) : null),
      a.marks.length ? strip(a.marks) : null, a.sentences.map((p) => h("p", {}, tidy(p))))));
}

// The range of what was measured: of a throughput the throughput.
function measuredFact(facts) {
  if (QUANTITY.first !== "throughput" || !sheet.measured.length) {
    const [smallest, largest] = [facts.smallest, facts.largest].map((v) => withMeasure(MEASURES.value.of(v), MEASURES.value));
    return [`${QUANTITY.name} (column ${facts.column})`, `${smallest} to ${largest}`];
  }
  const k = sheet.factors.length, rates = sheet.measured.map((m) => MEASURES.throughput.of(m[k], m, sheet));
  return [`${QUANTITY.called} (column ${QUANTITY.column})`, `${people(Math.min(...rates))} to ${people(Math.max(...rates))} ${QUANTITY.rate}`];
}

function showTables() {
  const { facts } = sheet;
  const several = sheet.members.length > 1;
  text("formula", sheet.formula);
  text("latex", sheet.latex ?? "");
  $("latex-box").hidden = sheet.latex === null;
  put("members", several ? [h("p", { class: "note" }, "The heaviest member is shown above; the prediction weighs all of them:"),
    table("Members of the ensemble", ["member", "weight (%)"], sheet.members.map(([n, w]) => [n, +(100 * w).toPrecision(3)]))] : null);
  put("constants", table(`Constants with ${plain(100 * PAGE.interval)} % intervals`,
    [...(several ? ["member"] : []), "constant", "value", "from", "to", "unit", "state"],
    sheet.constants.map((r) => (several ? r : r.slice(1)))));
  put("doublings", sheet.doublings ? table(`By how much doubling a factor multiplies the ${QUANTITY.first}, at a measured run of each level (${plain(100 * PAGE.interval)} % intervals)`,
    sheet.doublings.head, sheet.doublings.rows) : null);
  const erred = (logarithm) => (logarithm === null ? null : +(100 * Math.expm1(logarithm)).toPrecision(4));
  put("checked", sheet.judging.evidence.length ? table("Predicting the largest measured scale from the smaller ones: mean error (%)",
    ["factor", "scale", "this model", "the value at the scale before"],
    sheet.judging.evidence.map(([name, scale, ...errors]) => [name, scale, ...errors.map(erred)])) : null);
  const noise = facts.noise === null ? "not known: nothing was repeated" : `${plain(100 * facts.noise)} %`;
  const pairs = [["rows", facts.rows], ["configurations", facts.configurations], ["rows rejected", facts.rejected],
    ["noise between repeats", noise], measuredFact(facts),
    ["mean error on these rows", facts.error === null ? "–" : `${plain(+facts.error.toFixed(2))} %`], ["held-out error", facts.heldOut]];
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
    text("matches", wanted ? `${kept.length} of ${PAGE.groups.length}` : `${PAGE.groups.length} groups`);
    if (kept.length && !kept.some(([, i]) => i === state.group)) choose(kept[0][1]);
  };
  search.addEventListener("input", fill);
  select.addEventListener("change", () => choose(+select.value));
  fill();
}

// Show a group wherever it is named, at the configuration that some words of an address tell.
function choose(index, words) {
  show(index, words);
  showGroups();
  if (PAGE.groups.length > 1) $("group").value = index;
  remember();
}

function showValidation() {
  const { validation } = PAGE;
  if (!validation) return;
  if (validation.why) return put("validation", h("p", { class: "note" }, validation.why));
  const { rows } = validation, errors = rows.map((r) => (r[1] === null ? Infinity : r[1]));
  const held = validation.configurations === 1 ? "1 configuration was" : `${validation.configurations} configurations were`;
  put("validation",
    h("p", { class: "note" }, `${held} held out (${validation.scheme}) and predicted from the others.`),
    table(`Errors on held-out configurations, in %; intervals of ${plain(100 * validation.interval)} %`,
      ["model", "median error", "mean error", "interval covers", "interval width", "predicted", "not predicted because"], rows,
      { best: errors.indexOf(Math.min(...errors)) }),
    validation.notes.length ? h("ul", { class: "notes" }, validation.notes.map((n) => h("li", {}, n))) : null);
}

setUpPicker();
setUpBeside();
setUpJob();
setUpCapacity();
recall();
addEventListener("hashchange", recall);
showValidation();
new ResizeObserver(() => {
  if (!sheet || drawnWidth === $("sheet").clientWidth) return;
  cancelAnimationFrame(waiting);
  waiting = requestAnimationFrame(drawFigures);
}).observe($("sheet"));
// On paper the parts that are folded stand open, and the numbers of the figures stay folded.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = d.classList.contains("card") || d.classList.contains("answer"))));
$("noted").addEventListener("click", () => ($("notes").closest("details").open = true));
document.querySelectorAll("details.card").forEach((d) => d.addEventListener("toggle", () => d.open && sheet && drawFigures()));
document.documentElement.dataset.ready = "yes";
