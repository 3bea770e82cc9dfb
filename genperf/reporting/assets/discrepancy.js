// Covariances of the discrepancy: genperf/discrepancy/product.py, series.py. Each turns factors into a point, and compares points.

class RandomWalk {
  constructor({ axes, step, origin }) {
    this.axes = axes.map((f) => FORMULAS[f]);
    this.step = step;
    this.origin = origin;
  }
  point(x) {
    return this.axes.map((f, j) => Math.log2(f(x)) - this.origin[j]);
  }
  covariance(a, b) {
    let sum = 0;
    for (let j = 0; j < a.length; j++) sum += Math.abs(a[j]) + Math.abs(b[j]) - Math.abs(a[j] - b[j]);
    return 0.5 * this.step * this.step * sum;
  }
  variance(a) {
    return this.step * this.step * a.reduce((sum, v) => sum + Math.abs(v), 0);
  }
}

// s²·Π (1 + V/s²) + l²·exp(−Σ rate·d): a product over factors and a local part. V is a sum of PARTS, made from product.py.
class Product {
  constructor({ axes, size, local }) {
    this.axes = axes.map((axis) => {
      const parts = Object.keys(PARTS).filter((name) => axis[name]).map((name) => [axis[name] * axis[name], PARTS[name]]);
      return { length: 1, ...axis, read: FORMULAS[axis.formula], parts };
    });
    this.square = size * size;
    this.local = local * local;
  }
  point(x) {
    return this.axes.map(({ read, scale, centre }) => {
      const value = read(x);
      if (scale === "level") return value;
      return (scale === "ln" ? Math.log(value) : Math.sign(value) * Math.log1p(Math.abs(value))) - (centre || 0);
    });
  }
  part(axis, x, z) {
    if (axis.scale === "level") return x === z ? axis.linear * axis.linear : 0;
    return axis.parts.reduce((v, [square, part]) => v + part(square, x, z, axis), 0);
  }
  covariance(a, b) {
    let product = 1, far = 0;
    this.axes.forEach((axis, j) => {
      product *= 1 + this.part(axis, a[j], b[j]) / this.square;
      far += axis.rate * (axis.scale === "level" ? Number(a[j] !== b[j]) : Math.abs(a[j] - b[j]));
    });
    return this.square * product + this.local * Math.exp(-far);
  }
}

// What an expression cannot say: Gaussian processes on ln T around it. Mirrors genperf/discrepancy/.

const dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};

// The rows of anchors, by factor, from their columns.
function anchored(data) {
  const columns = data.map(([at, labels, values]) => {
    const numbers = unpacked(values);
    return [at, labels.length ? Array.from(numbers, (k) => labels[k]) : numbers];
  });
  return Array.from(columns[0][1], (_, i) => {
    const x = [];
    for (const [at, values] of columns) x[at] = values[i];
    return x;
  });
}

class Discrepancy {
  constructor(data) {
    this.kernel = new RandomWalk(data.kernel);
    this.noise = data.noise;
    this.scales = unpacked(data.scales);
    this.anchors = anchored(data.anchors);
    this.points = this.anchors.map((x) => this.kernel.point(x));
    this.extrapolation = new Extrapolation(data.extrapolation, this.anchors);
    Object.assign(this, { logarithms: data.logarithms, whiten: data.whiten, variances: data.variances, ones: data.ones });
    this.offsets = data.offsets ? unpacked(data.offsets) : [];
  }
  // κ between a point and every anchor.
  across(point) {
    return Float64Array.from(this.points, (anchor) => this.kernel.covariance(anchor, point));
  }

  // --- per draw: ln T at the anchors, a curve and a scale for each draw ---
  // Condition on the anchors: the curves are ln of the expression there, an array for each draw.
  condition(curves) {
    const count = this.logarithms.length, borrowed = this.offsets.length / this.scales.length, measured = count - borrowed;
    this.draws = curves.map((curve, d) => {
      const square = this.scales[d] ** 2, total = this.variances.map((v) => square + v);
      const away = this.logarithms.map((y, i) => y + (i < measured ? 0 : this.offsets[d * borrowed + i - measured]) - curve[i]);
      const r = this.whiten.map((row) => dot(row, away));
      let along = 0, precision = 0;
      for (let j = 0; j < count; j++) {
        along += (r[j] * this.ones[j]) / total[j];
        precision += this.ones[j] ** 2 / total[j];
      }
      const theta = along / precision, centred = away.map((v) => v - theta);
      return {
        square, theta, thetaVariance: 1 / precision,
        last: curve[this.extrapolation.last],
        pull: this.whiten.map((row, j) => (square * dot(row, centred)) / total[j]),
        gain: total.map((v) => square / v),
      };
    });
  }
  // Mean and variance of ln T of every draw; `curve` holds ln of the expression at x in each.
  forecast(curve, x) {
    const point = this.kernel.point(x), across = this.across(point), here = this.kernel.variance(point);
    const near = this.whiten.map((row) => dot(row, across));
    const [most, slope, drift] = this.extrapolation.at(x);
    const mean = new Float64Array(curve.length), variance = new Float64Array(curve.length);
    for (let d = 0; d < curve.length; d++) {
      const draw = this.draws[d];
      let pulled = 0, level = 1, known = 0;
      for (let j = 0; j < near.length; j++) {
        pulled += draw.pull[j] * near[j];
        level -= draw.gain[j] * this.ones[j] * near[j];
        known += draw.gain[j] * near[j] * near[j];
      }
      const scale = Math.max(this.scales[d], this.extrapolation.quietest);
      mean[d] = Math.min(curve[d], draw.last + most) + draw.theta + pulled + scale * drift;
      const left = draw.square * (here - known) + level * level * draw.thetaVariance;
      variance[d] = Math.max(left, 0) + (scale * slope) ** 2;
    }
    return [mean, variance];
  }
  // Variance that one new run adds in a draw.
  runVariance(d, noise) {
    return (this.scales[d] * this.noise) ** 2 + noise ** 2;
  }
}

// Processes about several means, pooled: genperf/discrepancy/stack.py.
class Stack {
  constructor(data) {
    Object.assign(this, data);
    const anchors = anchored(data.anchors);
    this.parts = data.parts.map((part) => {
      const kernel = new Product(part.kernel), noises = unpacked(part.noises), dual = unpacked(part.dual);
      return { ...part, kernel, noises, dual, points: anchors.slice(0, dual.length).map((x) => kernel.point(x)) };
    });
    // Further anchors are forecasts, which err together.
    this.runs = Math.min(...this.parts.map((part) => part.dual.length));
  }
  // The Cholesky factor of κ + noise between the anchors, row by row.
  factored({ kernel, points, noises }) {
    const rows = [];
    points.forEach((point, i) => {
      const row = Float64Array.from(points.slice(0, i + 1), (other) => kernel.covariance(other, point));
      row[i] += noises[i];
      for (let j = 0; j <= i; j++) {
        const other = j < i ? rows[j] : row;
        let v = row[j];
        for (let k = 0; k < j; k++) v -= row[k] * other[k];
        row[j] = j < i ? v / other[j] : Math.sqrt(v);
      }
      rows.push(row);
    });
    return rows;
  }
  // Mean and variance of a part's process, and what of the variance is the noise of the anchors.
  forecast(part, x) {
    const point = part.kernel.point(x), near = Float64Array.from(part.points, (anchor) => part.kernel.covariance(anchor, point));
    const mean = dot(near, part.dual);
    part.lower ||= this.factored(part);
    let known = 0;
    for (let i = 0; i < near.length; i++) {
      const row = part.lower[i];
      let v = near[i];
      for (let j = 0; j < i; j++) v -= row[j] * near[j];
      near[i] = v / row[i];
      known += near[i] * near[i];
    }
    let noisy = 0, shared = 0;
    for (let i = near.length - 1; i >= 0; i--) {
      const weight = near[i] / part.lower[i][i];
      for (let j = 0; j < i; j++) near[j] -= part.lower[i][j] * weight;
      noisy += part.noises[i] * weight * weight;
      if (i >= this.runs) shared += Math.sqrt(part.noises[i]) * weight;
    }
    return [mean, Math.max(part.kernel.covariance(point, point) - known, 0) + this.together * shared ** 2, noisy];
  }
  // Weight of each part, and the width, inside the range and beyond it.
  weights(x) {
    const logarithm = (w) => Math.log(Math.max(w, 1e-12)), inside = this.parts.map((p) => logarithm(p.weight));
    let chosen = inside, width = this.width, away = 0, growth = 1;
    for (const [formula, upper, weights, wide] of this.beyond) {
      const ratio = FORMULAS[formula](x) / upper, doublings = ratio === Infinity ? 1 : Math.log2(ratio) || 0;
      const far = Math.min(Math.max(doublings, 0), 1);
      growth = Math.max(growth, 0.5 * (1 + doublings));
      if (far <= away) continue;
      chosen = inside.map((w, k) => (1 - far) * w + far * logarithm(weights[k]));
      width = (1 - far) * this.width + far * wide;
      away = far;
    }
    return [chosen.map(Math.exp), Math.sqrt(growth) * width];
  }
  // ln T of the pool, and the variance of a new run; `curves` has ln of each part's expression at x.
  pooled(curves, x, places) {
    const [weights, width] = this.weights(x);
    const forecasts = this.parts.map((part) => this.forecast(part, x));
    const sure = places.map((k) => weights[k] / Math.sqrt(forecasts[k][1] + this.parts[k].noise ** 2));
    // Parts of one form share its weight by how sure each is.
    const ofForm = (k, each) => places.reduce((all, j, i) => all + (this.parts[j].form === this.parts[k].form ? each(j, i) : 0), 0);
    const share = places.map((k, i) => sure[i] * ofForm(k, (j) => weights[j]) / ofForm(k, (_, i) => sure[i]));
    const whole = share.reduce((a, b) => a + b);
    const mean = places.map((k) => curves[k] + forecasts[k][0]);
    const centre = mean.reduce((sum, m, i) => sum + (share[i] / whole) * m, 0);
    const sum = (each) => places.reduce((all, k, i) => all + (share[i] / whole) * each(k, i), 0);
    const scale = (width / this.normal) ** 2, apart = sum((k, i) => forecasts[k][1] + (mean[i] - centre) ** 2);
    const grown = (k) => Math.max(scale, 1) * this.parts[k].unsure ** 2 - scale;
    const more = (k) => (grown(k) > this.leastMore * scale ? grown(k) * forecasts[k][2] : 0);
    const run = Math.max(scale * sum((k) => this.parts[k].noise ** 2), this.repeats ** 2);
    return [centre, scale * apart + Math.max(run, sum(more))];
  }
}

// What holds beyond the anchors of a series: genperf/discrepancy/series.py.
class Extrapolation {
  constructor({ axes, slope, nodes, quietest, mean }, anchors) {
    this.axes = axes.map((f) => FORMULAS[f]);
    this.nodes = FORMULAS[nodes];
    this.onOneNode = anchors.every((x) => this.nodes(x) <= 1);
    this.slope = slope;
    this.quietest = quietest;
    this.mean = mean;
    this.anchors = anchors.map((x) => this.coordinates(x));
    this.last = 0;
    const after = (a, b) => a[0] > b[0] || (a[0] === b[0] && a.at(-1) >= b.at(-1));
    this.anchors.forEach((a, i) => {
      if (after(a, this.anchors[this.last])) this.last = i;
    });
  }
  // log2 of the axes and, last, of one worker's work.
  coordinates(x) {
    return this.axes.map((f) => Math.log2(f(x)));
  }
  // The largest growth of a curve from the largest anchor, and what the unknown slope adds: standard deviation, mean.
  at(x) {
    const there = this.coordinates(x), last = this.anchors[this.last];
    const grown = (there[0] - last[0]) * LN2, work = (there.at(-1) - last.at(-1)) * LN2;
    let far = 0, ahead = 0;
    there.forEach((value, j) => {
      const here = this.anchors.map((a) => a[j]);
      ahead = Math.max(ahead, value - Math.max(...here));
      far = Math.max(far, ahead, Math.min(...here) - value);
    });
    const guarded = grown > 0 && !(this.onOneNode && this.nodes(x) > 1);
    return [guarded ? grown + Math.max(work, 0) : Infinity, this.slope * far, this.mean * this.slope * ahead];
  }
}
