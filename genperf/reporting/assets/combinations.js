// How far a point's combinations lie from every run. Mirrors genperf/prediction/combinations.py.
function position(f, value) {
  if (!f.numeric) return f.levels.indexOf(value);
  if (f.positive && f.lower > 0) return Math.log2(value);
  return value / Math.max(f.upper - f.lower, Math.abs(f.upper), 1e-300);
}

function rounded(value) {
  const whole = 10 ** RULES.combinations.digits;
  return Math.round(value * whole) / whole;
}

function apart(combinations, factors, x) {
  const out = { doublings: 0, text: "" };
  if (!combinations) return out;
  const { level, largest_untested: tested, named } = RULES.combinations;
  const gap = (sign, here, run) => (sign === 0 ? level * (here !== run) : Math.max(0, sign * (here - run)));
  const clipped = factors.map((f, i) => position(f, f.numeric ? Math.min(Math.max(x[i], f.lower), f.upper) : x[i]));
  let pair = null;
  for (const [places, signs, runs] of combinations.corners) {
    const short = Math.min(...runs.map((r) => signs.reduce((sum, s, k) => sum + gap(s, clipped[places[k]], r[k]), 0)));
    if (rounded(short) > out.doublings) [out.doublings, pair] = [rounded(short), places];
  }
  if (out.doublings <= tested) return out;
  const distance = (run) => combinations.places.reduce((sum, i) => {
    const f = factors[i], far = Math.abs(position(f, x[i]) - position(f, run[i]));
    return sum + (f.numeric ? far : level * (far !== 0));
  }, 0);
  const far = combinations.runs.map((run) => rounded(distance(run)));
  const run = combinations.runs[far.indexOf(Math.min(...far))];
  const others = combinations.places.filter((i) => !pair.includes(i) && run[i] !== x[i]);
  const shown = (i, values) => `${factors[i].name}=${factors[i].numeric ? plain(values[i]) : values[i]}`;
  const nearest = [...pair, ...others].slice(0, named).map((i) => shown(i, run)).join(", ");
  out.text = reason("apart", { pair: pair.map((i) => shown(i, x)).join(" and "), nearest });
  return out;
}
