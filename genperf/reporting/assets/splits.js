// The other splits of the same devices over data-, tensor-, pipeline- and context-parallel ways, with all quantities.
const MOST_SPLITS = 60;
const devicesOf = (x) => sheet.splits.ways.reduce((product, place) => product * x[place], 1);

// After a way was moved: the devices stay where a column counts them and the data ways can follow, else they follow.
function splitFollows(x, moved) {
  const split = sheet.splits;
  if (!split || !split.ways.includes(moved)) return;
  if (split.workers !== null) {
    const others = split.data === null ? 0 : devicesOf(x) / x[split.data];
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
  const can = (y) => devicesOf(y) === devices && (!inside || tensor === null || y[tensor] <= inside) && conditions.every((f) => FORMULAS[f](y));
  return grid.filter((y) => same(y) || can(derived(y)));
}

function showSplits() {
  const card = $("splits-card"), rows = engine && sheet.splits ? splitsAt(state.x) : [];
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
