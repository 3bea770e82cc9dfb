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
  if (!there || !(one.engine || one.stops)) return null;
  return predictWith({ ...one, path: sheet.path, along: sheet.along }, engineOf(one), there);
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
    const unit = name === QUANTITY.name ? QUANTITY.unit : (PAGE.groups.flatMap((g) => (g.failed ? [] : g.sheet.further)).find((f) => f.name === name) || {}).unit;
    return h("div", { class: "control" }, h("label", { for: id }, `Capacity: ${name}${unit ? ` (${unit})` : ""}`),
      h("input", { type: "text", id, inputmode: "decimal", autocomplete: "off", placeholder: "none", value: CAPACITY[name] ? compact(CAPACITY[name]) : "", onchange: read }));
  }));
}
