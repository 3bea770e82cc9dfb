// What the page shows of a prediction: its value, or what follows from it. One measure is shown everywhere at a time.
// A quantity that follows from a predicted value v at x, by the formula of a sheet; null where the sheet has none.
const follows = (name, s, x, v, price = 0, samples = 1) => (s.measures[name] === null ? null : FORMULAS[s.measures[name]](x, [v, price, samples]));
// The work that a cost is told for: of the whole job, or of a million units; a step where nothing tells its work.
const costed = () => (JOB.size ? `a job of ${people(JOB.size)} ${units()}` : `a million ${units()}`);
const units = () => QUANTITY.rate.replace("/s", "");

// The price of the page, or else that of the runs of a group.
const priceOf = (s) => JOB.price ?? s.measures.price;

// Days, hours or minutes, by what the job or a run takes at the first answer: one unit in all figures and tables.
const suitedUnit = (seconds) => (seconds >= 172800 ? ["days", 86400] : seconds >= 7200 ? ["hours", 3600] : ["minutes", 60]);
function timeUnit() {
  const first = PAGE.groups.find((g) => !g.failed && g.sheet.measures.duration !== null).sheet;
  return suitedUnit(follows("duration", first, first.at, first.summary.value, 0, JOB.size));
}
function valueUnit() {
  const { value } = PAGE.groups.find((g) => !g.failed).sheet.summary;
  return QUANTITY.isTime && value >= 300 ? suitedUnit(value) : [QUANTITY.unit, 1];
}

// known: whether a sheet has it; of: from the predicted value at x; falls: whether it falls where the value rises.
const MEASURES = {
  value: { label: QUANTITY.name, unit: () => valueUnit()[0], known: () => true, of: (v) => v / valueUnit()[1] },
  throughput: { label: QUANTITY.called, unit: () => QUANTITY.rate, falls: true, known: (s) => s.measures.throughput !== null,
    of: (v, x, s) => follows("throughput", s, x, v) },
  tokens: { label: "tokens", unit: () => "tokens/s", falls: true, known: (s) => s.measures.tokens !== null,
    of: (v, x, s) => follows("tokens", s, x, v) },
  cost: { label: "cost", unit: () => PAGE.currency, heading: () => `cost of ${costed()}${PAGE.currency && ` (${PAGE.currency})`}`,
    known: (s) => priceOf(s) > 0 && s.measures.cost !== null,
    of: (v, x, s) => follows("cost", s, x, v, priceOf(s) / 3600, JOB.size || 1e6) },
  duration: { label: "duration", unit: () => timeUnit()[0], heading: () => `${timeUnit()[0]} for ${costed()}`,
    known: (s) => JOB.size > 0 && s.measures.duration !== null,
    of: (v, x, s) => follows("duration", s, x, v, 0, JOB.size) / timeUnit()[1] },
};
// Quantities that stand beside every prediction, as rows of one table: genperf/panel/quantities.py.
for (const [name, [label, unit]] of Object.entries(QUANTITY.beside))
  MEASURES[name] = { label, unit: () => unit, known: (s) => s.measures.beside[name] !== null,
    of: (v, x, s) => FORMULAS[s.measures.beside[name]](x, [v, 0, 1]) };
const measuresOf = (s) => Object.keys(MEASURES).filter((k) => MEASURES[k].known(s) && (k !== "value" || QUANTITY.ofSteps || !MEASURES.throughput.known(s)));
// The measure that is shown: the one chosen where this group has it, else the first.
function measure(s = sheet) {
  const keys = measuresOf(s);
  return MEASURES[keys.includes(state.measure) ? state.measure : keys.includes(QUANTITY.first) ? QUANTITY.first : keys[0]];
}
const keyOf = (m) => Object.keys(MEASURES).find((k) => MEASURES[k] === m);
const headingOf = (m) => (m.heading ? m.heading() : m.unit() ? `${m.label} (${m.unit()})` : m.label);
// A row of a prediction or a measurement {value, lower, upper, …} at x, in the measure.
function inMeasure(row, x, s = sheet, m = measure(s)) {
  const [a, b] = [m.of(row.lower, x, s), m.of(row.upper, x, s)];
  return { ...row, value: m.of(row.value, x, s), lower: Math.min(a, b), upper: Math.max(a, b) };
}
// A number as people read it: three digits, as Python prints it, commas between thousands, a letter from a million on.
function people(v) {
  if (!Number.isFinite(v)) return "–";
  if (Math.abs(v) >= 999950) return compact(v);
  const digits = +v.toPrecision(3);
  return Math.abs(digits) >= 1000 ? digits.toLocaleString("en-US", { maximumFractionDigits: 1 }) : plain(digits);
}
const withMeasure = (v, m) => `${people(v)} ${m.unit()}`.trim();
const measured = (v) => withMeasure(v, measure());

// ---------------------------------------------------------------- the switch, and what is paid

function showSwitch() {
  const keys = measuresOf(sheet), now = keyOf(measure());
  $("measures").hidden = keys.length < 2;
  put("measures", h("legend", { class: "label" }, "Show"), keys.map((key) => {
    const id = `measure-${key}`;
    return h("span", { class: "choice" },
      h("input", { type: "radio", name: "measure", id, value: key, checked: key === now, onchange: () => { state.measure = key; measureChanged(); } }),
      h("label", { for: id }, MEASURES[key].label));
  }));
}
function measureChanged() {
  showResult();
  showBeside();
  showGroups();
  showSplits();
  remember();
  drawFigures();
}

// Price and work in all: they stay where another group is chosen.
function setUpJob() {
  const any = PAGE.groups.some((g) => !g.failed && g.sheet.measures.cost !== null);
  $("job").hidden = !any;
  if (!any) return;
  const { paidUnit } = PAGE.groups.find((g) => !g.failed && g.sheet.measures.paidName).sheet.measures;
  const field = (key, label) => {
    const id = `job-${key}`;
    const read = (e) => {
      const value = readNumber(e.target.value);
      JOB[key] = value > 0 ? value : null;
      e.target.value = JOB[key] ? compact(JOB[key]) : "";
      showSwitch();
      measureChanged();
    };
    return h("div", { class: "control" }, h("label", { for: id }, label),
      h("input", { type: "text", id, inputmode: "decimal", autocomplete: "off", placeholder: "none", value: JOB[key] ? compact(JOB[key]) : "", onchange: read }));
  };
  put("job", h("h3", {}, "Money and time"), field("price", `Price${paidUnit}`), field("size", `Total work in ${units()}, such as 300B`),
    h("p", { class: "note" }, "A price adds the cost, the total work adds the duration."));
}
// What the job takes at a configuration, with its interval, in a sentence; nothing without a size.
function jobText(row, x) {
  if (!JOB.size || sheet.measures.duration === null) return "";
  const hours = [row.value, row.lower, row.upper].map((v) => follows("duration", sheet, x, v, 0, JOB.size) / 3600);
  const [size, unit] = hours[0] >= 48 ? [1 / 24, " days"] : hours[0] >= 2 ? [1, " hours"] : [60, " minutes"];
  const ends = (factor) => `${people(hours[0] * factor)} (${plain(100 * PAGE.interval)} %: ${people(hours[1] * factor)} to ${people(hours[2] * factor)})`;
  const used = follows("paid", sheet, x, row.value), money = PAGE.currency && ` ${PAGE.currency}`;
  const cost = used !== null && priceOf(sheet) ? `, for ${ends(priceOf(sheet) * used)}${money} at ${people(priceOf(sheet))}${money}${sheet.measures.paidUnit}` : "";
  return `${people(JOB.size)} ${units()} take ${ends(size)}${unit}${used === null ? "" : `, ${people(hours[0] * used)} hours of ${sheet.measures.paidName}`}${cost}.`;
}

// Further quantities beside the main one, and whether a run keeps their capacities.
const CAPACITY = { ...PAGE.capacity };

// The configuration in the factors of a further quantity; null where it knows no such level.
function inFactorsOf(one, x) {
  const places = new Map(sheet.factors.map((f, i) => [f.name, i]));
  const there = one.factors.map((f) => x[places.get(f.name)]);
  return one.factors.every((f, i) => f.numeric || f.levels.includes(there[i])) ? there : null;
}
function predictFurther(one, x) {
  const there = inFactorsOf(one, x);
  return there && predictWith(engineOf(one), there);
}
// The measured configuration of a quantity at x; nothing where x was not run.
const measuredAt = (s, x) => s.measured.find((m) => s.factors.every((f, i) => (f.numeric ? +m[i] === +x[i] : m[i] === x[i])));

// Whether a prediction keeps a capacity: its interval lies below it, across it, or above; null without a capacity.
function keeps(name, predicted) {
  const most = CAPACITY[name];
  if (!most || !predicted) return null;
  return predicted.upper <= most ? "fits" : predicted.lower > most ? "does not fit" : "may not fit";
}
const KEEPS_CHIP = { fits: "ok", "may not fit": "caution", "does not fit": "extrapolating-blind" };
function keepsText(name, unit, predicted) {
  const kept = keeps(name, predicted);
  if (!kept) return null;
  const most = `${people(CAPACITY[name])}${unit ? ` ${unit}` : ""}`;
  const interval = `${plain(100 * PAGE.interval)} % interval`;
  const why = { fits: `the ${interval} ends below ${most}`, "may not fit": `${most} lies inside the ${interval}`,
    "does not fit": `the ${interval} begins above ${most}` }[kept];
  return h("p", { class: "keeps", "data-keeps": kept }, h("span", { class: `chip ${KEEPS_CHIP[kept]}` }, kept), " ", why);
}

// One line of each further quantity: its prediction, what was measured here, its capacity.
function furtherResult(x) {
  return sheet.further.map((one, k) => {
    const predicted = predictFurther(one, x), there = inFactorsOf(one, x), run = there && measuredAt(one, there), n = one.factors.length;
    const number = (v) => `${people(v)}${one.unit ? ` ${one.unit}` : ""}`;
    if (!predicted) return h("div", {}, h("p", { class: "label" }, one.name), h("p", { class: "reason" }, "not known at these levels"));
    return h("div", { class: "further" }, h("p", { class: "label" }, `${one.name}${one.unit ? ` (${one.unit})` : ""}`),
      h("p", { class: "value", id: `further-${k}`, "data-value": predicted.value, "data-upper": predicted.upper }, number(predicted.value)),
      h("p", {}, `${plain(100 * PAGE.interval)} % interval: ${people(predicted.lower)} to ${number(predicted.upper)} `, chip(predicted.verdict)),
      run ? h("p", { class: "reason" }, `Measured here: ${number(run[n])} (${repeatsText(run[n + 3])}).`) : null,
      keepsText(one.name, one.unit, predicted));
  });
}

// Fields for the capacities: they stay where another group is chosen.
function setUpCapacity() {
  const names = Object.keys(CAPACITY);
  $("capacity").hidden = !names.length;
  put("capacity", names.length ? h("h3", {}, "What a device holds") : null, names.map((name) => {
    const id = `capacity-${name}`;
    const read = (e) => {
      const value = readNumber(e.target.value);
      CAPACITY[name] = value > 0 ? value : null;
      e.target.value = CAPACITY[name] ? compact(CAPACITY[name]) : "";
      measureChanged();
    };
    const unit = name === QUANTITY.name ? QUANTITY.unit : (PAGE.groups.flatMap((g) => (whole(g) ? g.sheet.further : [])).find((f) => f.name === name) || {}).unit;
    return h("div", { class: "control" }, h("label", { for: id }, `Capacity: ${name}${unit ? ` (${unit})` : ""}`),
      h("input", { type: "text", id, inputmode: "decimal", autocomplete: "off", placeholder: "none", value: CAPACITY[name] ? compact(CAPACITY[name]) : "", onchange: read }));
  }));
}

// The other splits of the same devices over data-, tensor-, pipeline- and context-parallel ways, with all quantities.
const MOST_SPLITS = 60;
const waysOf = (x) => sheet.splits.ways.reduce((product, place) => product * x[place], sheet.splits.further);
// Where data ways have no column, they take the devices that the others leave.
const devicesOf = (x) => (sheet.splits.devices === null ? waysOf(x) : FORMULAS[sheet.splits.devices](x));

// After a way was moved: the devices stay where a column counts them and the data ways can follow, else they follow.
function splitFollows(x, moved) {
  const split = sheet.splits;
  if (!split || !split.ways.includes(moved)) return;
  if (split.devices !== null) {
    if (split.workers !== null && x[split.workers] % waysOf(x)) x[split.workers] = waysOf(x) * Math.ceil(x[split.workers] / waysOf(x));
  } else if (split.workers !== null) {
    const others = split.data === null ? 0 : waysOf(x) / x[split.data];
    if (moved !== split.data && Number.isInteger(x[split.workers] / others)) x[split.data] = x[split.workers] / others;
    else x[split.workers] = devicesOf(x);
  }
  if (split.nodes !== null && split.inside) x[split.nodes] = Math.ceil(devicesOf(x) / split.inside);
}

// Every layout of the devices at x that can exist; that of x itself always.
function splitsAt(x) {
  const { varied, tensor, inside, conditions } = sheet.splits, devices = devicesOf(x);
  if (!Number.isInteger(devices) || devices < 2) return [];
  const divisors = Array.from({ length: devices }, (_, k) => k + 1).filter((k) => devices % k === 0);
  let grid = [x.slice()];
  for (const place of varied) grid = grid.flatMap((y) => divisors.map((d) => y.map((v, i) => (i === place ? d : v))));
  const same = (y) => varied.every((place) => y[place] === x[place]);
  const uses = (y) => (sheet.splits.devices === null ? waysOf(y) === devices : devices % waysOf(y) === 0);
  const can = (y) => uses(y) && (!inside || tensor === null || y[tensor] <= inside) && conditions.every((f) => FORMULAS[f](y));
  return grid.filter((y) => same(y) || can(derived(y)));
}

function showSplits() {
  const card = $("splits-card"), rows = sheet.splits ? splitsAt(state.x) : [];
  card.hidden = rows.length < 2;
  if (card.hidden) return;
  // 2: fits; 1: may fit; 0: does not. What is bounded and not known may fit.
  const kept = (row) => Math.min(row.fits >= PAGE.likelyToFit ? 2 : row.fits >= 0.5 ? 1 : 0, ...row.further.map(([one, p]) =>
    (CAPACITY[one.name] ? { fits: 2, "does not fit": 0 }[keeps(one.name, p)] ?? 1 : 2)));
  const nearest = rows.map((x) => [engine.central(x), x]).sort(([a], [b]) => a - b).slice(0, MOST_SPLITS);
  const all = nearest.map(([, x]) => {
    const raw = predict(x);
    return { x, raw, shown: inMeasure(raw, x), fits: fitsAt(sheet.feasibility, x), further: sheet.further.map((one) => [one, predictFurther(one, x)]) };
  }).sort((a, b) => kept(b) - kept(a) || a.raw.value - b.raw.value);
  const { varied } = sheet.splits, names = varied.map((place) => sheet.factors[place].name), number = (v) => (Number.isFinite(v) ? people(v) : "–");
  const bounded = sheet.feasibility || sheet.further.some((one) => CAPACITY[one.name]), best = all[0];
  const head = [...names, headingOf(measure()), "from", "to", ...sheet.further.flatMap((one) => [`${one.name}${one.unit ? ` (${one.unit})` : ""}`, "to", ...(CAPACITY[one.name] ? ["capacity"] : [])]), ...(sheet.feasibility ? ["fits (%)"] : []), "verdict"];
  const body = all.map((row) => {
    const here = varied.every((place) => row.x[place] === state.x[place]);
    const choose = () => { state.x = row.x; varied.forEach((place) => state.linked.delete(place)); moved(); };
    const cells = [...varied.map((place, k) => h("td", { class: "number" }, k ? plain(row.x[place]) : h("button", { class: "link", type: "button", onclick: choose,
        "aria-label": `set ${names.map((n, j) => `${n} ${row.x[varied[j]]}`).join(", ")}` }, plain(row.x[place])))),
      ...["value", "lower", "upper"].map((k) => h("td", { class: "number" }, number(row.shown[k]))),
      ...row.further.flatMap(([one, p]) => [h("td", { class: "number" }, p ? number(p.value) : "–"), h("td", { class: "number" }, p ? number(p.upper) : "–"),
        ...(CAPACITY[one.name] ? [h("td", {}, keeps(one.name, p) || "–")] : [])]),
      ...(sheet.feasibility ? [h("td", { class: "number" }, plain(Math.round(100 * row.fits)))] : []), h("td", {}, chip(row.shown.verdict))];
    return h("tr", { class: here ? "now" : null, "aria-current": here ? "true" : null }, cells);
  });
  const caption = `Splits of ${plain(devicesOf(state.x))} devices at this configuration, those that fit and the fastest first; choose one to set the sliders`;
  const fits = bounded ? [", though none fits,", " that may fit", " that fits"][kept(best)] : "";
  put("splits", h("p", { id: "splits-first" }, `The fastest${fits} is ${names.map((n, k) => `${n} ${plain(best.x[varied[k]])}`).join(", ")}: ${measured(best.shown.value)}` +
      best.further.map(([one, p]) => (p ? `, ${one.name} ${number(p.value)}${one.unit ? ` ${one.unit}` : ""}` : "")).join("") + "."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Splits" },
      h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head.map((v, j) => h("th", { scope: "col", class: j < head.length - 1 ? "number" : "text" }, v)))), h("tbody", {}, body))),
    rows.length > MOST_SPLITS ? h("p", { class: "note" }, `${MOST_SPLITS} of ${rows.length} splits`) : null);
}
