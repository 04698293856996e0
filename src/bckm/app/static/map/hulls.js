/** Outlines around clusters, and the middle where the name of each is written. */
import { polygonHull } from "../vendor/d3-polygon/index.js";

/** @typedef {{hull: [number, number][]|null, x: number, y: number, count: number}} Area */

/**
 * @param {import("./view.js").World} world
 * @param {ArrayLike<number>} labels
 * @param {number} count of clusters
 * @param {boolean} withHulls
 * @returns {Area[]}
 */
export function areas(world, labels, count, withHulls) {
  /** @type {[number, number][][]} */
  const members = Array.from({ length: count }, () => []);
  for (let i = 0; i < labels.length; i++) members[labels[i]]?.push([world.x[i], world.y[i]]);
  return members.map((points) => {
    let [x, y] = [0, 0];
    for (const [px, py] of points) [x, y] = [x + px, y + py];
    const many = Math.max(points.length, 1);
    return {
      hull: withHulls ? around(points) : null,
      x: x / many,
      y: y / many,
      count: points.length,
    };
  });
}

/** @param {[number, number][]} points */
function around(points) {
  if (points.length === 0) return null;
  return points.length < 3 ? points : (polygonHull(points) ?? points);
}

/**
 * A convex outline with a margin and round corners, as a path.
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number][]} corners pixels
 * @param {number} margin
 */
export function rounded(context, corners, margin) {
  const count = corners.length;
  if (count === 1) {
    context.arc(corners[0][0], corners[0][1], margin, 0, 2 * Math.PI);
    return;
  }
  let twice = 0; // the area: its sign is the direction
  corners.forEach(([x, y], i) => {
    const [a, b] = corners[(i + 1) % count];
    twice += x * b - a * y;
  });
  const turn = twice < 0 ? 1 : -1;
  const outward = (/** @type {[number, number]} */ from, /** @type {[number, number]} */ to) =>
    Math.atan2(to[1] - from[1], to[0] - from[0]) + (turn * Math.PI) / 2;
  corners.forEach((corner, i) => {
    const before = corners[(i + count - 1) % count];
    const after = corners[(i + 1) % count];
    context.arc(
      corner[0],
      corner[1],
      margin,
      outward(before, corner),
      outward(corner, after),
      turn > 0,
    );
  });
  context.closePath();
}
