/** Which point is under the pointer, and which are in a lasso. */
import { quadtree } from "../vendor/d3-quadtree/index.js";
import { polygonContains } from "../vendor/d3-polygon/index.js";

/** Points by place; the tree is made when it is first asked. */
export class Picker {
  /** @param {import("./view.js").World} world */
  constructor(world) {
    this.world = world;
    /** @type {import("../vendor/d3-quadtree/index.js").Quadtree<number>|null} */
    this.tree = null;
  }

  get #tree() {
    const { x, y } = this.world;
    const all = Array.from({ length: x.length }, (_, i) => i);
    return (this.tree ??= quadtree(
      all,
      (i) => x[i],
      (i) => y[i],
    ));
  }

  /**
   * The nearest point, or -1.
   * @param {number} x world
   * @param {number} y
   * @param {number} radius
   */
  nearest(x, y, radius) {
    return this.#tree.find(x, y, radius) ?? -1;
  }

  /**
   * The nearest point that is not left out, or -1.
   * @param {number} x
   * @param {number} y
   * @param {(sample: number) => boolean} leftOut
   */
  nearestOther(x, y, leftOut) {
    let best = -1;
    let least = Infinity;
    this.#tree.visit((node, x0, y0, x1, y1) => {
      const dx = Math.max(x0 - x, 0, x - x1);
      const dy = Math.max(y0 - y, 0, y - y1);
      if (dx * dx + dy * dy >= least) return true;
      if (Array.isArray(node)) return false;
      for (let leaf = /** @type {any} */ (node); leaf; leaf = leaf.next) {
        const far = (this.world.x[leaf.data] - x) ** 2 + (this.world.y[leaf.data] - y) ** 2;
        if (far < least && !leftOut(leaf.data)) [best, least] = [leaf.data, far];
      }
      return false;
    });
    return best;
  }

  /**
   * @param {[number, number][]} polygon world
   * @returns {number[]}
   */
  within(polygon) {
    const found = [];
    const { x, y } = this.world;
    for (let i = 0; i < x.length; i++) {
      if (polygonContains(polygon, [x[i], y[i]])) found.push(i);
    }
    return found;
  }
}
