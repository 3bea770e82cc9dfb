// What the page draws for a configuration: time, terms, efficiency.

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
