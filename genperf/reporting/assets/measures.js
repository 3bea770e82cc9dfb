// What the page shows of a prediction: its value, or what follows from it. One measure is shown everywhere at a time.
// A quantity that follows from a predicted value v at x, by the formula of a sheet; null where the sheet has none.
const follows = (name, s, x, v, price = 0, samples = 1) => (s.measures[name] === null ? null : FORMULAS[s.measures[name]](x, [v, price, samples]));
// The work that a cost is told for: of the whole job, or of a million units; a step where nothing tells its work.
const costed = () => (JOB.size ? `a job of ${people(JOB.size)} ${units()}` : `a million ${units()}`);
const units = () => QUANTITY.rate.replace("/s", "");

// Days, hours or minutes, by what the job takes at the first answer: one unit in all figures and tables.
function timeUnit() {
  const first = PAGE.groups.find((g) => !g.failed && g.sheet.measures.duration !== null).sheet;
  const seconds = follows("duration", first, first.at, first.summary.value, 0, JOB.size);
  return seconds >= 172800 ? ["days", 86400] : seconds >= 7200 ? ["hours", 3600] : ["minutes", 60];
}

// known: whether a sheet has it; of: from the predicted value at x; falls: whether it falls where the value rises.
const MEASURES = {
  value: { label: QUANTITY.name, unit: () => QUANTITY.unit, known: () => true, of: (v) => v },
  throughput: { label: "throughput", unit: () => QUANTITY.rate, falls: true, known: (s) => s.measures.throughput !== null,
    of: (v, x, s) => follows("throughput", s, x, v) },
  tokens: { label: "tokens", unit: () => "tokens/s", falls: true, known: (s) => s.measures.tokens !== null,
    of: (v, x, s) => follows("tokens", s, x, v) },
  cost: { label: "cost", unit: () => PAGE.currency, heading: () => `cost of ${costed()}${PAGE.currency && ` (${PAGE.currency})`}`,
    known: (s) => JOB.price > 0 && s.measures.cost !== null,
    of: (v, x, s) => follows("cost", s, x, v, JOB.price / 3600, JOB.size || 1e6) },
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
  if (Math.abs(v) >= 999950) return compact(v).replace(/\.?0+(?=[TBM]$)/, "");
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
  const cost = used !== null && JOB.price ? `, for ${ends(JOB.price * used)}${money} at ${people(JOB.price)}${money}${sheet.measures.paidUnit}` : "";
  return `${people(JOB.size)} ${units()} take ${ends(size)}${unit}${used === null ? "" : `, ${people(hours[0] * used)} hours of ${sheet.measures.paidName}`}${cost}.`;
}
