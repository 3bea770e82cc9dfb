// Covariances of the discrepancy: genperf/discrepancy/kernels/. Each turns factors into a point, and compares points.

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

class Exponential {
  constructor({ metrics, effects }) {
    this.metrics = metrics;
    this.effects = effects;
    this.size = effects.reduce((sum, [size]) => sum + size, 0);
  }
  correlation(far) {
    return Math.exp(-far);
  }
  point(x) {
    return this.metrics.map(([at, metric, most]) => {
      const value = most === null ? x[at] : Math.min(x[at], most);
      return metric.endsWith("doublings") ? (value > 0 ? Math.log2(value) : -Infinity) : value;
    });
  }
  covariance(a, b) {
    const apart = this.metrics.map(([, metric], j) =>
      metric === "level" ? Number(a[j] !== b[j]) : metric.startsWith("squared") ? (a[j] - b[j]) ** 2 : Math.abs(a[j] - b[j]));
    let sum = 0;
    for (const [size, rates] of this.effects) {
      let far = 0;
      for (const [j, rate] of rates) far += rate * apart[j];
      sum += size * this.correlation(far);
    }
    return sum;
  }
  variance() {
    return this.size;
  }
}

const KERNELS = { "random-walk": RandomWalk, exponential: Exponential };
