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
