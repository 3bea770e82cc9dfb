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
  const shown = (i, values) => `${factors[i].name}=${factors[i].numeric ? setting(values[i]) : values[i]}`;
  const nearest = [...pair, ...others].slice(0, named).map((i) => shown(i, run)).join(", ");
  out.text = reason("apart", { pair: pair.map((i) => shown(i, x)).join(" and "), nearest });
  return out;
}

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

// What `predict` computes, in the page: members × draws → target, interval, verdict. Mirrors genperf/prediction/.
const LN2 = Math.log(2);

// Numbers as genperf/result/arrays.py writes them; those in half precision are in units of their column's largest.
const HALF_RANGE = 2 ** 14;
const half = (h) => (h >> 15 ? -1 : 1) * (h & 0x7c00 ? 2 ** (((h >> 10) & 31) - 25) * (1024 + (h & 1023)) : 2 ** -24 * (h & 1023));
function unpacked(written) {
  if (Array.isArray(written)) return Float64Array.from(written.flat());
  const { buffer } = Uint8Array.from(atob(written.float16 || written.float32 || written.float64), (c) => c.charCodeAt(0));
  if (written.float64) return new Float64Array(buffer);
  if (written.float32) return Float64Array.from(new Float32Array(buffer));
  const largest = unpacked(written.largest);
  return Float64Array.from(new Uint16Array(buffer), (h, i) => (half(h) / HALF_RANGE) * largest[i % largest.length]);
}

class Member {
  constructor(data, discrepancies) {
    this.name = data.name;
    this.weight = data.weight;
    this.terms = data.terms.map(([name, f]) => [name, FORMULAS[f]]);
    this.total = data.total === null ? null : FORMULAS[data.total];
    this.constants = Float64Array.from(data.constants);
    const flat = unpacked(data.draws), n = this.constants.length;
    this.draws = Array.from({ length: data.count }, (_, d) => flat.subarray(d * n, (d + 1) * n));
    const discrepancy = data.discrepancy === null ? null : discrepancies[data.discrepancy];
    this.series = discrepancy;
    // What a draw's share is multiplied by for the central value.
    this.centralShares = data.central ? unpacked(data.central) : new Float64Array(data.count).fill(1);
    // Its share of the central value, as of the terms.
    this.centralWeight = (this.weight * this.centralShares.reduce((a, b) => a + b)) / data.count;
    if (this.series) this.series.condition(this.draws.map((c) => this.series.anchors.map((x) => this.log(x, c))));
  }
  // The value of each term, and of their total.
  split(x, c) {
    const t = this.terms.map(([, f]) => f(x, c));
    return [t, this.total ? this.total(x, c, t) : t.reduce((a, b) => a + b)];
  }
  log(x, c) {
    return Math.log(this.split(x, c)[1]);
  }
  // Mean and variance of ln T for every draw.
  forecast(x) {
    const curve = Float64Array.from(this.draws, (c) => this.log(x, c));
    return this.series ? this.series.forecast(curve, x) : [curve, new Float64Array(curve.length)];
  }
  // The median of what the draws of a series expect: what the terms are shares of.
  expected(x) {
    return mixtureQuantiles(this.forecast(x)[0], this.centralShares, new Float64Array(this.draws.length), [0.5])[0];
  }
}

// Quantiles of a mixture of normals, as genperf/prediction/bands.py has them: the points of all draws are put in
// order, and a level is read between the middles of their shares. Only the points next to a level are sorted.
function mixtureQuantiles(mean, shares, sd, levels) {
  const normal = RULES.normal, spread = sd.some((v) => v !== 0);
  const each = spread ? normal.length : 1, n = mean.length * each;
  const points = new Float64Array(n), parts = new Float64Array(n);
  const whole = shares.reduce((a, b) => a + b, 0);
  let low = Infinity, high = -Infinity;
  for (let d = 0, i = 0; d < mean.length; d++)
    for (let p = 0; p < each; p++, i++) {
      const v = spread ? mean[d] + sd[d] * normal[p] : mean[d];
      points[i] = v;
      parts[i] = shares[d] / whole / each;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  const boxes = Math.min(4096, n), scale = high > low ? (boxes - 1e-9) / (high - low) : 0;
  const box = (v) => Math.min(boxes - 1, Math.max(0, Math.floor((v - low) * scale) || 0));
  const held = new Float64Array(boxes), count = new Int32Array(boxes);
  for (let i = 0; i < n; i++) {
    const b = box(points[i]);
    held[b] += parts[i];
    count[b]++;
  }
  return levels.map((level) => {
    let b = 0, before = 0;
    while (b < boxes - 1 && before + held[b] < level) before += held[b++];
    let first = b, last = b;
    for (first = b - 1; first >= 0 && !count[first]; first--);
    for (last = b + 1; last < boxes && !count[last]; last++);
    if (first >= 0) before -= held[first];
    const near = [];
    for (let i = 0; i < n; i++) {
      const at = box(points[i]);
      if (at === b || at === first || at === last) near.push(i);
    }
    near.sort((i, j) => points[i] - points[j] || i - j);
    let sum = before, x0 = -Infinity, y0 = points[near[0]];
    for (const i of near) {
      sum += parts[i];
      const middle = sum - 0.5 * parts[i];
      if (middle >= level) {
        if (x0 === -Infinity) return points[i];
        return y0 + ((points[i] - y0) / (middle - x0)) * (level - x0);
      }
      x0 = middle;
      y0 = points[i];
    }
    return y0;
  }).map(Math.exp);
}

// A function of a configuration that computes each once: figures share their points, and the first one keeps its own.
function remembered(compute) {
  const known = new Map();
  return (x) => {
    const at = JSON.stringify(x);
    if (known.size > 4096) known.clear();
    if (!known.has(at)) known.set(at, compute(x));
    return known.get(at);
  };
}

class Engine {
  constructor(data, factors, judging) {
    Object.assign(this, data, { factors, judging });
    for (const name of ["predict", "parts"]) this[name] = remembered(this[name].bind(this));
    this.discrepancies = data.discrepancies.map((d) => new Discrepancy(d));
    this.members = data.members.map((m) => new Member(m, this.discrepancies));
    this.pool = data.stack && new Stack(data.stack);
  }
  mixture(x, members = this.members) {
    const forecasts = members.map((m) => m.forecast(x));
    const flat = (k) => Float64Array.from(forecasts.flatMap((f) => Array.from(f[k])));
    const shares = Float64Array.from(members.flatMap((m) => Array(m.draws.length).fill(m.weight / m.draws.length)));
    return [flat(0), flat(1), shares];
  }
  // ln T of stacked members and the variance of a new run.
  pooled(x, members = this.members) {
    const curves = this.members.map((m) => m.log(x, m.constants));
    return this.pool.pooled(curves, x, members.map((m) => this.members.indexOf(m)));
  }
  central(x, members = this.members) {
    if (this.pool) return Math.exp(this.pooled(x, members)[0]);
    if (members.some((m) => m.series)) {
      const [mean, variance, shares] = this.mixture(x, members);
      const factors = members.flatMap((m) => Array.from(m.centralShares));
      return mixtureQuantiles(mean, shares.map((s, d) => s * factors[d]), variance.map(Math.sqrt), [0.5])[0];
    }
    let sum = 0, weight = 0;
    for (const m of members) {
      sum += m.weight * m.log(x, m.constants);
      weight += m.weight;
    }
    return Math.exp(sum / weight);
  }
  // Ends of the prediction band at some levels.
  band(x, levels) {
    if (this.pool) {
      const [centre, run] = this.pooled(x);
      return levels.map((level) => Math.exp(centre + this.quantiles.find(([l]) => l === level)[1] * Math.sqrt(run)));
    }
    const [mean, discrepancies, shares] = this.mixture(x);
    const variance = discrepancies.slice();
    const far = distanceBeyond(this.factors, x, this.settled), floor = this.floor === null ? -Infinity : this.floor;
    let start = 0;
    for (const m of this.members) {
      for (let d = 0; d < m.draws.length; d++) {
        variance[start + d] += m.series
          ? m.series.runVariance(d, this.noise)
          : (this.perDoubling * far) ** 2 + this.misfit ** 2;
      }
      start += m.draws.length;
    }
    const kept = mean.map((v) => Math.max(Number.isNaN(v) ? floor : v, floor));
    return mixtureQuantiles(kept, shares, variance.map(Math.sqrt), levels);
  }
  predict(x) {
    const most = (v) => (this.ceiling === null ? v : Math.min(v, this.ceiling)), time = most(this.central(x));
    const [lower, upper, low90, high90] = this.band(x, [...this.levels, 0.05, 0.95]).map(most);
    const [verdict, reason] = judged(this, x, Math.log(high90 / low90));
    return { time, lower: Math.min(lower, time), upper: Math.max(upper, time), verdict, reason };
  }
  // Seconds of each term, all members by weight; what is left of the time is what overlap hides and form misses.
  parts(x) {
    const time = this.central(x), seconds = new Map();
    const whole = this.members.reduce((a, m) => a + m.centralWeight, 0);
    if (this.pool) {
      // The expression of one member serves as mean; the rest of the time is what no expression explains.
      const served = this.members[this.serves], [t] = served.split(x, served.constants);
      t.forEach((v, j) => seconds.set(served.terms[j][0], v));
      return { time, seconds };
    }
    for (const m of this.members) {
      const [t, total] = m.split(x, m.constants);
      const predicted = m.series ? m.expected(x) : total;
      t.forEach((v, j) => {
        const name = m.terms[j][0];
        seconds.set(name, (seconds.get(name) || 0) + (m.centralWeight / whole) * (v / predicted) * time);
      });
    }
    return { time, seconds };
  }
}

// Whether a group has its answers, and not a line in the table of groups alone.
const whole = (group) => Boolean(group.sheet && group.sheet.engine);

// The engine of a group or of a further quantity, made once.
const engines = new Map();
function engineOf(s) {
  if (!engines.has(s)) engines.set(s, new Engine(s.engine, s.factors, s.judging));
  return engines.get(s);
}

function doublingsBeyond(f, value) {
  if (f.positive && f.lower > 0 && value > 0)
    return Math.max(Math.log2(value / f.upper), Math.log2(f.lower / value), 0);
  const width = Math.max(f.upper - f.lower, Math.abs(f.upper), 1e-300);
  return Math.max((value - f.upper) / width, (f.lower - value) / width, 0);
}

// A reason by its name, from genperf/words/verdict.py: a number in it is written as a setting.
const reason = (about, values = {}) =>
  RULES.reasons[about].replace(/\{(\w+)\}/g, (_, name) => (typeof values[name] === "number" ? setting(values[name]) : values[name]));

// The rules of genperf/prediction/verdict.py.
function judged(model, x, logWidth) {
  const { several_forms: several, series, followers, settled, evidence, unmeasured, unidentified: loose, borrowed } = model.judging;
  const pooled = borrowed.length > 0, reached = pooled ? borrowed : model.factors;
  const reasons = new Map(), next = [], nearLevel = several && !pooled ? 0 : 1;
  let grade = 0, outsideCount = 0;
  const mark = (level, text) => {
    grade = Math.max(grade, level);
    reasons.set(text, Math.max(level, reasons.get(text) ?? 0));
  };
  model.judging.unheeded.forEach((text) => mark(2, text));
  // Nodes and data-parallel copies go as far as the workers do: only what exceeds that is news.
  const together = [...followers, ...Object.keys(settled)], leader = (name) => reached.findIndex((f) => f.name === settled[name]);
  const outside = allDoublings(model.factors, x, together) > 0;
  const total = allDoublings(reached, x, together);
  const there = new Map(unmeasured.map(([name, f]) => [name, FORMULAS[f](x, ONES) > 0]));
  if (there.get("one machine")) mark(1, reason("one_machine"));
  there.delete("one machine");
  reached.forEach((f, i) => {
    if (!f.numeric) return;
    const far = doublingsBeyond(f, x[i]);
    if (f.distinct === 1) {
      if (far > 0) mark(2, reason("one_value", { name: f.name, value: f.lower }));
      return;
    }
    if (followers.includes(f.name)) return;
    const known = reason(pooled ? "known_borrowed" : "known");
    const beside = f.name in settled;
    const news = beside ? far > doublingsBeyond(reached[leader(f.name)], x[leader(f.name)]) + RULES.rounding : far > 0;
    if (!beside) outsideCount += far > 0;
    if (news) mark(total > RULES.blind ? 2 : nearLevel, reason("outside", { ...f, value: x[i], far: doublings(far), known }));
    if (far > 0 && f.distinct < RULES.fewest_scales) mark(2, reason("few", { name: f.name, count: f.distinct }));
    if (f.role === "extrinsic" && !beside) next.push([f, far, x[i]]);
  });
  if (total > RULES.near) {
    const level = total > RULES.blind ? 2 : series && !pooled ? 0 : 1;
    if (outsideCount > 1) mark(level, reason("in_all", { far: doublings(total) }));
    grade = Math.max(grade, level);
  }
  const combination = apart(model.judging.combinations, model.factors, x);
  if (combination.doublings > RULES.near) mark(combination.doublings > RULES.blind ? 2 : 1, combination.text);
  for (const [name, positive] of there) {
    if (positive && name === "leaving the node") mark(2, reason("second_node"));
    else if (positive && grade < 2) mark(2, reason("unmeasured", { term: name }));
  }
  for (const [factor, heldOut, error, last] of evidence) {
    const outsideOf = next.filter(([f]) => f.name === factor).map(([, far]) => far > 0);
    if (!(outsideOf.length ? outsideOf.some(Boolean) : total > 0)) continue;
    if (error <= RULES.error) continue;
    const text = reason("look_back", { name: factor, value: heldOut, error: percent(error) });
    const beaten = last !== null && error > last + RULES.nearer;
    const level = !several && (beaten || error > RULES.large_error) ? 2 : 1;
    mark(level, beaten ? reason("look_back_beaten", { look_back: text, last: percent(last) }) : text);
  }
  model.factors.forEach((f, i) => {
    if (!pooled || !f.numeric || f.role !== "extrinsic" || followers.includes(f.name)) return;
    if (outside && x[i] > f.upper) mark(0, reason("borrowed", { name: f.name, value: f.upper }));
  });
  const [wide, very] = outside || combination.doublings > RULES.near ? [RULES.wide_beyond, RULES.very_wide_beyond] : [RULES.wide, RULES.very_wide];
  if (logWidth > wide && logWidth <= very) mark(1, reason("wide"));
  if (logWidth > very) mark(2, reason("very_wide"));
  if (loose.length && total > RULES.near)
    mark(1, reason(several ? "undetermined_effect" : "undetermined", { names: `${loose.slice(0, 4).join(", ")}${loose.length > 4 ? ", …" : ""}` }));
  // The reasons of the worst grade come first.
  const sorted = [...reasons].sort(([, a], [, b]) => b - a).map(([text]) => text);
  return [RULES.verdicts[grade], sorted.join("; ") || reason("inside")];
}

// What follows the scale of a series is not counted beside it: of them and the scale the farthest counts.
function allDoublings(factors, x, followers = []) {
  let total = 0, followed = 0;
  factors.forEach((f, i) => {
    if (!f.numeric) return;
    const far = doublingsBeyond(f, x[i]);
    if (followers.includes(f.name)) followed = Math.max(followed, far);
    else total += far;
  });
  return Math.max(total, followed);
}

// How far outside the data a run lies, in doublings: what an interval widens with. What grows with the workers counts once.
function distanceBeyond(factors, x, settled) {
  const far = new Map();
  factors.forEach((f, i) => f.numeric && far.set(f.name, doublingsBeyond(f, x[i])));
  for (const [name, workers] of Object.entries(settled)) far.set(workers, Math.max(far.get(workers), far.get(name)));
  return Math.hypot(...[...far].filter(([name]) => !(name in settled)).map(([, d]) => d));
}

// Every constant is one: a term's shape.
const ONES = new Proxy([], { get: () => 1 });

const percent = (logarithm) => {
  const error = 100 * Math.expm1(logarithm);
  return error > 1000 ? reason("very_large") : `${Math.round(error)} %`;
};
const doublings = (count) => {
  const text = count.toFixed(1).replace(/\.0$/, "");
  return reason(text === "1" ? "doubling" : "doublings", { count: text });
};
// A value of a factor as `--at` takes it, and as genperf/words/numbers.py writes it: 8, 0.25, 175B.
function setting(value) {
  if (!(Math.abs(value) >= 1e6 && Math.abs(value) < 1e15)) return plain(value);
  const [size, letter] = [[1e12, "T"], [1e9, "B"], [1e6, "M"]].find(([size]) => Math.abs(value) >= size);
  return +value.toPrecision(4) === value ? `${plain(value / size)}${letter}` : value.toFixed(0);
}
// Six significant digits, as Python's `:g` writes them.
function plain(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const exponent = Math.floor(Math.log10(Math.abs(+value.toPrecision(6))));
  if (exponent < -4 || exponent >= 6) {
    const [digits, power] = value.toExponential(5).split("e");
    const sign = power[0] === "-" ? "-" : "+";
    return `${digits.replace(/\.?0+$/, "")}e${sign}${power.replace(/^[+-]/, "").padStart(2, "0")}`;
  }
  const text = value.toPrecision(6);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
