/**
 * Many points in little time, with or without a graphics card: each look is rendered once, and its
 * pixels are then written straight into the picture.
 */
import { style, trace } from "./colors.js";

/**
 * @typedef {object} Stamp
 * @property {Int32Array} full places of opaque pixels, from the middle
 * @property {Uint32Array} color their colours
 * @property {Int32Array} edge places of the others
 * @property {Uint32Array} edgeColor
 */

export const MARGIN = 24; // pixels around the picture, so that no stamp needs to be cut

/** A picture of points; its size is that of the canvas and a margin. */
export class Picture {
  /**
   * @param {number} width device pixels
   * @param {number} height
   */
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.stride = width + 2 * MARGIN;
    this.image = new ImageData(this.stride, height + 2 * MARGIN);
    this.pixels = new Uint32Array(this.image.data.buffer);
    /** @type {Map<string, Stamp>} */
    this.stamps = new Map();
  }

  clear() {
    this.pixels.fill(0);
  }

  /** @param {CanvasRenderingContext2D} context */
  show(context) {
    context.putImageData(this.image, -MARGIN, -MARGIN);
  }

  /**
   * The stamp of a cluster.
   * @param {number} cluster
   * @param {number} radius device pixels
   * @param {string|null} halo colour around, or none
   * @param {number} fade 0 to 1, how much of it is seen
   */
  stamp(cluster, radius, halo, fade = 1) {
    const look = style(cluster);
    const key = `${look.color} ${look.shape} ${radius} ${halo} ${fade}`;
    const known = this.stamps.get(key);
    if (known) return known;
    const made = this.#made(look, radius, halo, fade);
    this.stamps.set(key, made);
    return made;
  }

  /**
   * @param {import("./colors.js").Style} look
   * @param {number} radius
   * @param {string|null} halo
   * @param {number} fade
   * @returns {Stamp}
   */
  #made(look, radius, halo, fade) {
    const half = Math.min(Math.ceil(radius * 1.25 + 2), MARGIN - 1);
    const side = 2 * half + 1;
    const canvas = new OffscreenCanvas(side, side);
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (
      canvas.getContext("2d", { willReadFrequently: true })
    );
    context.globalAlpha = fade;
    context.beginPath();
    trace(context, radius < 2.5 ? "square" : look.shape, half + 0.5, half + 0.5, radius);
    if (halo !== null) {
      context.strokeStyle = halo;
      context.lineWidth = Math.max(1, radius * 0.4);
      context.lineJoin = "round";
      context.stroke();
    }
    context.fillStyle = look.color;
    context.fill();
    const pixels = new Uint32Array(context.getImageData(0, 0, side, side).data.buffer);
    /** @type {number[][]} */
    const [full, color, edge, edgeColor] = [[], [], [], []];
    pixels.forEach((pixel, i) => {
      const place = (Math.floor(i / side) - half) * this.stride + (i % side) - half;
      const alpha = pixel >>> 24;
      if (alpha > 250) {
        full.push(place);
        color.push(pixel);
      } else if (alpha > 8) {
        edge.push(place);
        edgeColor.push(pixel);
      }
    });
    return {
      full: Int32Array.from(full),
      color: Uint32Array.from(color),
      edge: Int32Array.from(edge),
      edgeColor: Uint32Array.from(edgeColor),
    };
  }

  /**
   * Put points into the picture.
   * @param {Float32Array} x world
   * @param {Float32Array} y
   * @param {Stamp[]} stamps
   * @param {(i: number) => number} which the stamp of a point, -1 for none
   * @param {number} scale
   * @param {number} shiftX device pixels
   * @param {number} shiftY
   */
  put(x, y, stamps, which, scale, shiftX, shiftY) {
    const { pixels, stride, width, height } = this;
    for (let i = 0; i < x.length; i++) {
      const px = Math.round(x[i] * scale + shiftX);
      const py = Math.round(y[i] * scale + shiftY);
      if (!(px >= 0 && py >= 0 && px < width && py < height)) continue;
      const chosen = which(i);
      if (chosen < 0) continue;
      const stamp = stamps[chosen];
      const base = (py + MARGIN) * stride + px + MARGIN;
      const { full, color, edge, edgeColor } = stamp;
      for (let j = 0; j < full.length; j++) pixels[base + full[j]] = color[j];
      for (let j = 0; j < edge.length; j++) {
        const at = base + edge[j];
        pixels[at] = pixels[at] === 0 ? edgeColor[j] : blended(edgeColor[j], pixels[at]);
      }
    }
  }
}

/**
 * One pixel over another.
 * @param {number} above
 * @param {number} below
 */
function blended(above, below) {
  const a = above >>> 24;
  const rest = 255 - a;
  const both = Math.max(a, below >>> 24);
  const red = ((above & 255) * a + (below & 255) * rest) >> 8;
  const green = (((above >> 8) & 255) * a + ((below >> 8) & 255) * rest) >> 8;
  const blue = (((above >> 16) & 255) * a + ((below >> 16) & 255) * rest) >> 8;
  return ((both << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}
