// All groups as a table in front: what each is predicted to take, how sure, how efficient. A click on a head sorts.
// All groups are told in one measure: the one that is shown where each has it.
function overviewMeasure() {
  const all = PAGE.groups.filter((g) => !g.failed).map((g) => g.sheet), m = measure(all[0]);
  return all.every((s) => m.known(s)) ? m : MEASURES.value;
}
const overview = (g) => inMeasure(g.sheet.summary, g.sheet.at, g.sheet, overviewMeasure());
// The count of workers of a group's answers; told where the groups' differ, so that unlike counts are not compared unseen.
const countOf = (g) => (g.sheet.counted === null ? null : g.sheet.at[g.sheet.counted]);
function countColumn() {
  const known = PAGE.groups.filter((g) => !g.failed && g.sheet.counted !== null);
  return new Set(known.map(countOf)).size > 1 ? [[`at ${PAGE.groups[0].sheet.factors[known[0].sheet.counted].name}`, countOf]] : [];
}
const groupColumns = () => [
  ["group", (g) => nameOf(g)],
  [headingOf(overviewMeasure()), (g) => overview(g).value],
  ["from", (g) => overview(g).lower],
  ["to", (g) => overview(g).upper],
  ["verdict", (g) => RULES.verdicts.indexOf(g.sheet.summary.verdict)],
  ...(QUANTITY.isTime ? [["efficiency (%)", (g) => g.sheet.summary.efficiency]] : []),
  ...countColumn(),
];

// The places of the groups in the order of a column; those that failed, or have no value, come last.
function sortedGroups() {
  const places = PAGE.groups.map((_, i) => i);
  if (!state.sort) return places;
  const [column, sign] = state.sort, value = groupColumns()[column][1];
  const key = (i) => (PAGE.groups[i].failed && column ? null : value(PAGE.groups[i]));
  return places.sort((i, j) => {
    const a = key(i), b = key(j);
    if (a === null || b === null) return (a === null) - (b === null) || i - j;
    return sign * (typeof a === "string" ? a.localeCompare(b) : a - b) || i - j;
  });
}

function showGroups() {
  if (PAGE.groups.length < 2) return;
  const head = groupColumns().map(([name], j) => {
    const [column, sign] = state.sort || [];
    const sort = column !== j ? "none" : sign > 0 ? "ascending" : "descending";
    const onclick = () => {
      state.sort = [j, column === j ? -sign : 1];
      showGroups();
      document.querySelectorAll("#overview th button")[j].focus();
      remember();
    };
    return h("th", { scope: "col", "aria-sort": sort, class: j === 0 || name === "verdict" ? "text" : "number" },
      h("button", { type: "button", onclick }, name));
  });
  const number = (v) => h("td", { class: "number" }, v === null ? "–" : people(+v.toPrecision(3)));
  const body = sortedGroups().map((i) => {
    const g = PAGE.groups[i];
    const pick = () => { choose(i); $("top").scrollIntoView(); };
    const name = h("td", { class: "text" }, h("button", { class: "link", type: "button", onclick: pick }, nameOf(g)));
    const cells = g.failed
      ? [h("td", { class: "text", colspan: groupColumns().length - 1 }, g.failed)]
      : [...["value", "lower", "upper"].map((k) => number(overview(g)[k])), h("td", {}, chip(g.sheet.summary.verdict)),
        ...(QUANTITY.isTime ? [number(g.sheet.summary.efficiency)] : []), ...countColumn().map(([, value]) => number(value(g)))];
    return h("tr", { class: i === state.group ? "now" : null, "aria-current": i === state.group ? "true" : null }, name, cells);
  });
  const caption = `The prediction for each group at its configuration, with ${plain(100 * PAGE.interval)} % intervals; choose one to see it`;
  const m = keyOf(overviewMeasure()), more = m === "value" ? [] : [m, `${m}_lower`, `${m}_upper`];
  const rows = PAGE.groups.filter((g) => !g.failed).map((g) => {
    const { key, sheet: { summary: s } } = g, o = overview(g);
    return [...key, ...(more.length ? [o.value, o.lower, o.upper] : []), s.value, s.lower, s.upper, s.verdict,
      ...(QUANTITY.isTime ? [s.efficiency] : []), ...countColumn().map(([, value]) => value(g))];
  });
  const names = [...PAGE.groupColumns, ...more, QUANTITY.name, "lower", "upper", "verdict", ...(QUANTITY.isTime ? ["efficiency_percent"] : []),
    ...countColumn().map(([name]) => name.replace(/^at /, ""))];
  put("overview", h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "All groups" },
    h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)), h("tbody", {}, body))),
    saving("groups.csv", names, rows));
}
