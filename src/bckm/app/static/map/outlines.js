/** Outlines behind the points: only what can be seen is drawn, each line by itself. */

const NEAR = 0.7; // pixels: a corner so close to the last one is left out
const PIECE = 400; // corners of one stroke: long paths take much longer than many short ones
const MOST = 100_000; // corners of a picture

/**
 * @typedef {object} Outline a line in the world, and the box around it
 * @property {[number, number][]} line
 * @property {[number, number, number, number]} box
 */

/**
 * @param {import("./geojson.js").Line[]} lines in the coordinates of the data
 * @param {import("./view.js").World} world
 * @returns {Outline[]}
 */
export function placed(lines, world) {
  return lines.map((line) => {
    const there = line.map(([x, y]) => world.at(x, y));
    /** @type {[number, number, number, number]} */
    const box = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [x, y] of there) {
      box[0] = Math.min(box[0], x);
      box[1] = Math.min(box[1], y);
      box[2] = Math.max(box[2], x);
      box[3] = Math.max(box[3], y);
    }
    return { line: there, box };
  });
}

/** Is any of it where the points are? @param {Outline[]} outlines @param {import("./view.js").World} world */
export function meets(outlines, { halfWide, halfHigh }) {
  return outlines.some(
    ({ box }) =>
      box[0] <= halfWide && box[2] >= -halfWide && box[1] <= halfHigh && box[3] >= -halfHigh,
  );
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Outline[]} outlines
 * @param {import("./view.js").View} view
 * @param {number} width
 * @param {number} height
 */
export function drawOutlines(context, outlines, { scale, x, y }, width, height) {
  let left = MOST;
  for (const { line, box } of outlines) {
    if (box[2] * scale + x < 0 || box[0] * scale + x > width) continue;
    if (box[3] * scale + y < 0 || box[1] * scale + y > height) continue;
    if (Math.max(box[2] - box[0], box[3] - box[1]) * scale < NEAR) continue;
    let [px, py] = [NaN, NaN];
    let drawn = 0;
    line.forEach(([a, b], i) => {
      const [qx, qy] = [a * scale + x, b * scale + y];
      const last = i === line.length - 1;
      if (!last && Math.abs(qx - px) < NEAR && Math.abs(qy - py) < NEAR) return;
      if (drawn % PIECE === 0) {
        if (drawn > 0) {
          context.lineTo(qx, qy);
          context.stroke();
        }
        context.beginPath();
        context.moveTo(qx, qy);
      } else context.lineTo(qx, qy);
      drawn++;
      [px, py] = [qx, qy];
    });
    context.stroke();
    left -= drawn;
    if (left < 0) return;
  }
}
