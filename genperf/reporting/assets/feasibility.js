// The probability that a run does not fail: mirrors genperf/prediction/feasibility.py.
function normalShare(z) {
  // Abramowitz and Stegun 7.1.26, off by less than 2e-7.
  const x = Math.abs(z) / Math.SQRT2, t = 1 / (1 + 0.3275911 * x);
  const rest = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * Math.exp(-x * x);
  return z >= 0 ? 1 - rest / 2 : rest / 2;
}

// What a configuration asks for: one asks for no less where no entry is smaller.
function demandedBy(f, values) {
  const out = [];
  f.demands.forEach(([, , , , more], k) => {
    if (more !== "smaller") out.push(values[k]);
    if (more !== "larger") out.push(-values[k]);
  });
  f.offsets.forEach(([, levels], k) => {
    const code = Object.keys(levels).indexOf(String(values[f.demands.length + k]));
    out.push(code, -code);
  });
  return out;
}
const surpasses = (a, others, sign, same) =>
  others.some((b) => b.every((v, j) => sign * (a[j] - v) >= -same * Math.abs(v)));

// 1 where no run ever failed.
function fitsAt(f, x) {
  if (!f) return 1;
  const values = [...f.demands.map(([place]) => x[place]), ...f.offsets.map(([place]) => x[place])];
  let margin = f.headroom;
  f.demands.forEach(([, slope, centre, logarithmic], k) => {
    const ratio = values[k] / centre;
    margin -= slope * (logarithmic ? Math.log(Math.max(ratio, 2.2250738585072014e-308)) : ratio);
  });
  f.offsets.forEach(([, levels], k) => (margin -= levels[values[f.demands.length + k]] ?? Math.max(...Object.values(levels))));
  if (f.need) margin -= f.need[1] * Math.log(Math.max(FORMULAS[f.need[0]](x), 2.2250738585072014e-308));
  const here = demandedBy(f, values), known = (list) => list.map((v) => demandedBy(f, v));
  let p = normalShare(margin);
  if (surpasses(here, known(f.succeeded), -1, f.same)) p = Math.max(f.certainty, p);
  if (surpasses(here, known(f.failed), 1, f.same)) p = Math.min(1 - f.certainty, p);
  return 1 - (1 - f.byChance) * (1 - p);
}

// In words; nothing where a run is likely to fit.
function fitsText(p) {
  if (p >= PAGE.likelyToFit) return "";
  const percent = p >= 0.01 ? `${Math.round(100 * p)} %` : reason("less_than_one");
  return sentence(reason("fits", { how: reason(p >= 0.5 ? "fails" : "most_likely_fails"), percent }));
}
