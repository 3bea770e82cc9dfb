// What `predict` computes, in the page: members × draws → time, interval, verdict. Mirrors genperf/prediction/.
const LN2 = Math.log(2);

function unpacked({ bytes, data }) {
  const text = atob(data), raw = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) raw[i] = text.charCodeAt(i);
  if (bytes === 8) return new Float64Array(raw.buffer);
  // Six digits were kept: they come back as the decimal numbers they were.
  return Float64Array.from(new Float32Array(raw.buffer), (v) => +v.toPrecision(6));
}

class Member {
  constructor(data, walks) {
    this.name = data.name;
    this.weight = data.weight;
    this.terms = data.terms.map(([name, f]) => [name, FORMULAS[f]]);
    this.total = data.total === null ? null : FORMULAS[data.total];
    this.constants = Float64Array.from(data.constants);
    const flat = unpacked(data.draws), n = this.constants.length;
    this.draws = Array.from({ length: data.count }, (_, d) => flat.subarray(d * n, (d + 1) * n));
    this.kriging = data.kriging ?? null;
    this.walk = data.walk === undefined ? null : new Walk(walks[data.walk], unpacked(data.sizes), this, data.offsets ? unpacked(data.offsets) : []);
  }
  // Seconds of each term, and of their total.
  split(x, c) {
    const t = this.terms.map(([, f]) => f(x, c));
    return [t, this.total ? this.total(x, c, t) : t.reduce((a, b) => a + b)];
  }
  log(x, c) {
    return Math.log(this.split(x, c)[1]);
  }
  // Mean and variance of ln T for every draw; the levels are what each kriging says at x.
  forecast(x, levels) {
    const mean = Float64Array.from(this.draws, (c) => this.log(x, c));
    if (this.walk) return this.walk.forecast(mean, x);
    const [level, variance] = this.kriging === null ? [0, 0] : levels[this.kriging];
    return [mean.map((v) => v + level), new Float64Array(mean.length).fill(variance)];
  }
}

// What the measured times lie off the expressions by, carried to other configurations: genperf/prediction/kriging.py.
class Kriging {
  constructor({ axes, effects, weights, variance }) {
    this.axes = axes.map(({ at, kind, labels, values }) => {
      const numbers = Array.from(unpacked(values));
      const own = kind === "level" ? numbers.map((k) => labels[k]) : kind === "doublings" ? numbers.map(Math.log2) : numbers;
      return { at, kind, own };
    });
    this.effects = effects;
    this.size = effects.reduce((a, e) => a + e.size, 0);
    this.weights = unpacked(weights);
    this.variance = variance;
  }
  // Likeness to every anchor.
  near(x) {
    const apart = this.axes.map(({ at, kind, own }) => {
      if (kind === "level") return own.map((v) => (v === x[at] ? 0 : 1));
      const here = kind === "doublings" ? Math.log2(x[at]) : x[at];
      return own.map((v) => (Number.isNaN(here) ? Infinity : Math.abs(here - v)));
    });
    return Float64Array.from(this.weights, (_, i) => {
      let sum = 0;
      for (const { size, rates } of this.effects) {
        let far = 0;
        for (const [j, rate] of rates) far += rate * apart[j][i];
        sum += size * Math.exp(-far);
      }
      return sum;
    });
  }
  mean(x) {
    return this.near(x).reduce((a, v, i) => a + v * this.weights[i], 0);
  }
  forecast(x) {
    const near = this.near(x), mean = near.reduce((a, v, i) => a + v * this.weights[i], 0);
    if (!this.variance) return [mean, 0];
    this.lower ||= this.factored();
    let known = 0;
    for (let i = 0; i < near.length; i++) {
      const row = this.lower[i];
      let v = near[i];
      for (let j = 0; j < i; j++) v -= row[j] * near[j];
      near[i] = v / row[i];
      known += near[i] * near[i];
    }
    return [mean, this.variance * Math.max(this.size - known, 0)];
  }
  // The Cholesky factor of the likeness between the anchors, plus one: row by row.
  factored() {
    const rows = [], count = this.weights.length;
    for (let i = 0; i < count; i++) {
      const row = this.near(this.anchor(i));
      row[i] += 1;
      for (let j = 0; j <= i; j++) {
        const other = j < i ? rows[j] : row;
        let v = row[j];
        for (let k = 0; k < j; k++) v -= row[k] * other[k];
        row[j] = j < i ? v / other[j] : Math.sqrt(v);
      }
      rows.push(row);
    }
    return rows;
  }
  anchor(i) {
    const x = [];
    for (const { at, kind, own } of this.axes) x[at] = kind === "doublings" ? 2 ** own[i] : own[i];
    return x;
  }
}

// Universal kriging of the measured series, one draw at a time: genperf/prediction/walk.py.
class Walk {
  constructor(data, sizes, member, offsets) {
    Object.assign(this, data);
    this.sizes = sizes;
    this.axes = data.axes.map((f) => FORMULAS[f]);
    this.work = FORMULAS[data.work];
    this.nodes = FORMULAS[data.nodes];
    const k = this.logarithms.length, borrowed = offsets.length / sizes.length, own = k - borrowed;
    this.draws = Array.from(sizes, (s, d) => {
      const c = member.draws[d], square = s * s;
      const curve = this.anchors.map((x) => member.log(x, c));
      const away = this.logarithms.map((y, i) => y + (i < own ? 0 : offsets[d * borrowed + i - own]) - curve[i]);
      const total = this.own.map((v) => square + v);
      const r = this.whiten.map((row) => row.reduce((a, w, i) => a + w * away[i], 0));
      let along = 0, precision = 0;
      for (let j = 0; j < k; j++) {
        along += (r[j] * this.one[j]) / total[j];
        precision += (this.one[j] * this.one[j]) / total[j];
      }
      const theta = along / precision;
      const rest = this.whiten.map((row) => row.reduce((a, w, i) => a + w * (away[i] - theta), 0));
      return {
        last: curve[this.last], theta, thetaVariance: 1 / precision, square,
        pull: rest.map((v, j) => v / total[j]), ones: this.one.map((v, j) => v / total[j]), total,
      };
    });
  }
  covariance(a, b) {
    let sum = 0;
    for (let j = 0; j < a.length; j++) {
      const x = a[j] - this.start[j], y = b[j] - this.start[j];
      sum += Math.abs(x) + Math.abs(y) - Math.abs(x - y);
    }
    return 0.5 * this.step * this.step * sum;
  }
  forecast(asked, x) {
    const there = this.axes.map((f) => Math.log2(f(x)));
    const work = this.work(x), k = this.logarithms.length;
    const grown = there[0] - this.coordinates[this.last][0];
    const guarded = grown > 0 && !(this.onOneNode && this.nodes(x) > 1);
    const most = guarded ? grown * LN2 + Math.max(Math.log(work / this.works[this.last]), 0) : Infinity;
    const across = this.coordinates.map((c) => this.covariance(c, there));
    const near = this.whiten.map((row) => row.reduce((a, w, i) => a + w * across[i], 0));
    const here = this.covariance(there, there);
    const beyond = this.beyond(there, work);
    const mean = new Float64Array(asked.length), variance = new Float64Array(asked.length);
    for (let d = 0; d < asked.length; d++) {
      const own = this.draws[d];
      let pulled = 0, seen = 0, known = 0;
      for (let j = 0; j < k; j++) {
        pulled += own.pull[j] * near[j];
        seen += own.ones[j] * near[j];
        known += (near[j] * near[j]) / own.total[j];
      }
      mean[d] = Math.min(asked[d], own.last + most) + own.theta + own.square * pulled;
      const missing = 1 - own.square * seen;
      const left = own.square * here - own.square * own.square * known + missing * missing * own.thetaVariance;
      const slope = Math.max(this.sizes[d], 1) * this.trend * beyond;
      variance[d] = Math.max(left, 0) + slope * slope;
    }
    return [mean, variance];
  }
  beyond(there, work) {
    const asked = [...there, Math.log2(work)];
    let far = 0;
    asked.forEach((value, j) => {
      const here = this.coordinates.map((c, i) => (j < there.length ? c[j] : Math.log2(this.works[i])));
      far = Math.max(far, value - Math.max(...here), Math.min(...here) - value);
    });
    return far;
  }
}

// Quantiles of a mixture of normals, as genperf/prediction/bands.py has them: the points of all draws are put in
// order, and a level is read between the middles of their shares. Only the points next to a level are sorted.
function mixtureQuantiles(mean, shares, sd, levels) {
  const normal = RULES.normal, spread = sd.some((v) => v !== 0);
  const each = spread ? normal.length : 1, n = mean.length * each;
  const points = new Float64Array(n), own = new Float64Array(n);
  const whole = shares.reduce((a, b) => a + b, 0);
  let low = Infinity, high = -Infinity;
  for (let d = 0, i = 0; d < mean.length; d++)
    for (let p = 0; p < each; p++, i++) {
      const v = spread ? mean[d] + sd[d] * normal[p] : mean[d];
      points[i] = v;
      own[i] = shares[d] / whole / each;
      if (v < low) low = v;
      if (v > high) high = v;
    }
  const boxes = Math.min(4096, n), scale = high > low ? (boxes - 1e-9) / (high - low) : 0;
  const box = (v) => Math.min(boxes - 1, Math.max(0, Math.floor((v - low) * scale) || 0));
  const held = new Float64Array(boxes), count = new Int32Array(boxes);
  for (let i = 0; i < n; i++) {
    const b = box(points[i]);
    held[b] += own[i];
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
      sum += own[i];
      const middle = sum - 0.5 * own[i];
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

class Engine {
  constructor(data, factors, judging) {
    Object.assign(this, data, { factors, judging });
    this.members = data.members.map((m) => new Member(m, data.walks));
    this.krigings = data.krigings.map((k) => new Kriging(k));
  }
  mixture(x, members = this.members) {
    const levels = this.krigings.map((k) => k.forecast(x));
    const found = members.map((m) => m.forecast(x, levels));
    const flat = (k) => Float64Array.from(found.flatMap((f) => Array.from(f[k])));
    const shares = Float64Array.from(members.flatMap((m) => Array(m.draws.length).fill(m.weight / m.draws.length)));
    return [flat(0), flat(1), shares];
  }
  central(x, members = this.members) {
    if (members.some((m) => m.walk)) {
      const [mean, variance, shares] = this.mixture(x, members);
      return mixtureQuantiles(mean, shares, variance.map(Math.sqrt), [0.5])[0];
    }
    const levels = this.krigings.map((k) => k.mean(x));
    let sum = 0, weight = 0;
    for (const m of members) {
      sum += m.weight * (m.log(x, m.constants) + (m.kriging === null ? 0 : levels[m.kriging]));
      weight += m.weight;
    }
    return Math.exp(sum / weight);
  }
  // Ends of the prediction band at some levels.
  band(x, levels) {
    const [mean, variance, shares] = this.mixture(x);
    const far = allDoublings(this.factors, x), floor = this.floor === null ? -Infinity : this.floor;
    let start = 0;
    for (const m of this.members) {
      for (let d = 0; d < m.draws.length; d++) {
        variance[start + d] += m.walk
          ? (m.walk.sizes[d] * m.walk.noise) ** 2 + this.noise ** 2
          : (this.perDoubling * far) ** 2 + this.misfit ** 2;
      }
      start += m.draws.length;
    }
    const kept = mean.map((v) => Math.max(Number.isNaN(v) ? floor : v, floor));
    return mixtureQuantiles(kept, shares, variance.map(Math.sqrt), levels);
  }
  predict(x) {
    const time = this.central(x);
    const [lower, upper, low90, high90] = this.band(x, [...this.levels, 0.05, 0.95]);
    const [verdict, reason] = judged(this, x, Math.log(high90 / low90));
    return { time, lower: Math.min(lower, time), upper: Math.max(upper, time), verdict, reason };
  }
  // Seconds of each term, all members by weight; what is left of the time is what overlap hides and form misses.
  parts(x) {
    const time = this.central(x), seconds = new Map();
    const whole = this.members.reduce((a, m) => a + m.weight, 0);
    for (const m of this.members) {
      const [t, total] = m.split(x, m.constants);
      const own = m.walk || m.kriging !== null ? this.central(x, [m]) : total;
      t.forEach((v, j) => {
        const name = m.terms[j][0];
        seconds.set(name, (seconds.get(name) || 0) + (m.weight / whole) * (v / own) * time);
      });
    }
    return { time, seconds };
  }
}

function doublingsBeyond(f, value) {
  if (f.positive && f.lower > 0 && value > 0)
    return Math.max(Math.log2(value / f.upper), Math.log2(f.lower / value), 0);
  const width = Math.max(f.upper - f.lower, Math.abs(f.upper), 1e-300);
  return Math.max((value - f.upper) / width, (f.lower - value) / width, 0);
}

// The rules of genperf/prediction/verdict.py, in the same words.
function judged(model, x, logWidth) {
  const { severalForms: several, followers, evidence, unseen, unidentified: loose, borrowed } = model.judging;
  const pooled = borrowed.length > 0, reached = pooled ? borrowed : model.factors;
  const reasons = new Set(), next = [], nearLevel = several && !pooled ? 0 : 1;
  let grade = 0;
  const mark = (level, text) => {
    grade = Math.max(grade, level);
    reasons.add(text);
  };
  const outside = allDoublings(model.factors, x, followers) > 0;
  const total = allDoublings(reached, x, followers);
  reached.forEach((f, i) => {
    if (!f.numeric) return;
    const far = doublingsBeyond(f, x[i]);
    if (f.distinct === 1) {
      if (far > 0) mark(2, `${f.name} was only ever ${plain(f.lower)}: its effect was not seen`);
      return;
    }
    if (followers.includes(f.name)) return;
    const seenAs = pooled ? "measured and borrowed" : "measured";
    const range = `${plain(f.lower)} to ${plain(f.upper)}`;
    if (far > 0) mark(nearLevel, `${f.name}=${plain(x[i])} is ${doublings(far)} outside the ${seenAs} ${range}`);
    if (far > 0 && f.distinct < RULES.fewest) mark(2, `${f.name} was measured at ${f.distinct} values only: measure a third`);
    if (f.role === "extrinsic") next.push([f, far, x[i]]);
  });
  if (total > RULES.near && total <= RULES.blind) mark(1, `${doublings(total)} outside the data`);
  if (total > RULES.blind) mark(2, `${doublings(total)} outside the data in all`);
  const there = new Map(unseen.map(([name, f]) => [name, FORMULAS[f](x, ONES) > 0]));
  for (const [name, asked] of there) {
    if (asked && name === "leaving the node") mark(2, "no run beyond one node: measure 2 nodes");
    else if (asked && grade < 2) mark(2, `nothing measured shows '${name}'`);
  }
  for (const [factor, heldOut, error, last] of evidence) {
    const own = next.filter(([f]) => f.name === factor).map(([, far]) => far > 0);
    if (!(own.length ? own.some(Boolean) : total > 0)) continue;
    const text = `predicting ${factor}=${plain(heldOut)} from smaller scales, the model erred by ${percent(error)}`;
    if (last !== null && error > last + RULES.nearer)
      mark(several ? 1 : 2, `${text}, and 'as at the largest scale' by ${percent(last)}`);
    else if (error > RULES.missed && !several) mark(error > RULES.missedByFar ? 2 : 1, text);
  }
  model.factors.forEach((f, i) => {
    if (!pooled || !f.numeric || f.role !== "extrinsic" || followers.includes(f.name)) return;
    if (outside && x[i] > f.upper)
      mark(0, `measured to ${f.name}=${plain(f.upper)}; beyond, it is borrowed from other groups`);
  });
  const [wide, very] = outside ? RULES.wideBeyond : RULES.wide;
  if (logWidth > wide && logWidth <= very) mark(1, "the interval is wide");
  if (logWidth > very) mark(2, "the interval is very wide");
  if (loose.length && total > RULES.near)
    mark(1, `not determined by the data: ${loose.slice(0, 4).join(", ")}${loose.length > 4 ? ", …" : ""}`);
  for (const [f, far, asked] of next)
    if (grade > 0 && far > RULES.near && asked > 2 * f.upper) mark(0, `measure ${f.name}=${plain(2 * f.upper)} first`);
  return [RULES.verdicts[grade], [...reasons].join("; ") || "inside the measured range"];
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

// Every constant is one: a term's shape.
const ONES = new Proxy([], { get: () => 1 });

const percent = (logarithm) => `${Math.round(100 * Math.expm1(logarithm))} %`;
const doublings = (count) => {
  const text = count.toFixed(1).replace(/\.0$/, "");
  return `${text} doubling${text === "1" ? "" : "s"}`;
};
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
