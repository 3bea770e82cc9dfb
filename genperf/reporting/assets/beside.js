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
  return [predictWith(other, engineOf(other), there), there, other];
}

function setUpBeside() {
  const usable = PAGE.groups.map((g, i) => [g, i]).filter(([g]) => !g.failed);
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
  const others = PAGE.groups.map((g, i) => [g, i]).filter(([g, i]) => !g.failed && i !== state.group);
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
