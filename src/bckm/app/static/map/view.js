/** From the data to the plane of the map (`World`), and from there to pixels (`View`). */

/** @typedef {import("../types.js").Points} Points */

/**
 * Positions within about ±1, north up, ready to draw; and the way there for outlines.
 */
export class World {
  /** @param {Points} points */
  constructor(points) {
    const n = points.n;
    this.kind = points.kind;
    this.x = new Float32Array(n);
    this.y = new Float32Array(n);
    const [x0, x1] = extent(points.x);
    const [y0, y1] = extent(points.y);
    this.middle = [(x0 + x1) / 2, (y0 + y1) / 2];
    // degrees of longitude are shorter than those of latitude; places keep their shape, features
    // that mean different things fill the picture
    const squeeze = points.kind === "latlon" ? Math.cos((this.middle[1] * Math.PI) / 180) : 1;
    const wide = (x1 - x0) * squeeze || 1;
    const high = y1 - y0 || 1;
    const one = 2 / Math.max(wide, high);
    this.factor = points.kind === "components" ? [2.6 / wide, 2 / high] : [one * squeeze, one];
    for (let i = 0; i < n; i++) {
      this.x[i] = (points.x[i] - this.middle[0]) * this.factor[0];
      this.y[i] = (this.middle[1] - points.y[i]) * this.factor[1];
    }
    this.halfWide = ((x1 - x0) * this.factor[0]) / 2 || 1;
    this.halfHigh = ((y1 - y0) * this.factor[1]) / 2 || 1;
    /** length of 1 in the person's units: kilometers, or those of the axes */
    this.unit = points.kind === "latlon" ? 111.195 / one : 1 / one;
  }

  /**
   * @param {number} x as in the data
   * @param {number} y
   * @returns {[number, number]}
   */
  at(x, y) {
    return [(x - this.middle[0]) * this.factor[0], (this.middle[1] - y) * this.factor[1]];
  }
}

/** @param {number[]} values @returns {[number, number]} */
function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

/** Pixels on the right, where the tools are: on phones in two columns. @param {number} width */
const tools = (width) => (width < 600 ? 92 : 44);

/** Where the map is looked at: pixel = scale × world + shift, in CSS pixels. */
export class View {
  constructor() {
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.least = 0.1;
  }

  /**
   * Show everything.
   * @param {World} world
   * @param {number} width
   * @param {number} height
   */
  fit(world, width, height) {
    const margin = Math.min(48, 0.1 * Math.min(width, height));
    const room = width - tools(width);
    this.scale = Math.max(
      1,
      Math.min((room / 2 - margin) / world.halfWide, (height / 2 - margin) / world.halfHigh),
    );
    this.least = this.scale / 4;
    this.x = room / 2;
    this.y = height / 2;
  }

  /**
   * @param {number} factor
   * @param {number} x the pixel that stays
   * @param {number} y
   */
  zoom(factor, x, y) {
    const scale = Math.min(Math.max(this.scale * factor, this.least), this.least * 40_000);
    const real = scale / this.scale;
    this.x = x + (this.x - x) * real;
    this.y = y + (this.y - y) * real;
    this.scale = scale;
  }

  /**
   * @param {number} px
   * @param {number} py
   * @returns {[number, number]}
   */
  world(px, py) {
    return [(px - this.x) / this.scale, (py - this.y) / this.scale];
  }
}

/**
 * A round length of at most `most`, for the scale bar.
 * @param {number} most
 */
export function round(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return power * (most >= 5 * power ? 5 : most >= 2 * power ? 2 : 1);
}
