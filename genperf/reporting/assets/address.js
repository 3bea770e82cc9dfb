// The page's state in its address, after the #: a link shows the same group, configuration and order.

// Write down what differs from the page as it opens.
function remember() {
  const words = new URLSearchParams(), group = PAGE.groups[state.group];
  if (state.group) for (const part of group.key) words.append("group", part);
  if (sheet && !group.failed) sheet.factors.forEach((f, i) => {
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
  const beside = PAGE.groups.findIndex((g) => !g.failed && words.has("beside") && g.key.join("\n") === other);
  state.beside = beside < 0 ? null : beside;
  state.sort = groupColumns()[column] && Math.abs(sign) === 1 ? [column, sign] : null;
  choose(Math.max(0, index), words);
}

// Set the configuration that an address names: the scale first, since others follow it.
function configure(words) {
  const order = sheet.factors.map((_, i) => i).sort((a, b) => (b === sheet.along) - (a === sheet.along) || a - b);
  for (const i of order) {
    const f = sheet.factors[i], given = words.get(`at.${f.name}`);
    if (given === null || (!engine && i !== sheet.along)) continue;
    const value = f.numeric ? Number(given) : given;
    if (f.numeric ? !Number.isFinite(value) || (f.positive && value <= 0) : !f.levels.includes(value)) continue;
    if (i === sheet.along) state.x = along(engine ? value : sheet.path.counts[nearest(sheet.path.counts, value)]);
    else if (state.x[i] !== value) {
      state.linked.delete(i);
      state.x[i] = value;
    }
  }
  derived(state.x);
}
