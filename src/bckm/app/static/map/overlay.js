/** What lies above the points: rings, the lasso, what is dragged, names of clusters. */
import { style, themed, trace } from "./colors.js";

/** @typedef {import("./canvas.js").MapView} MapView */

/** @param {MapView} map @param {CanvasRenderingContext2D} context cleared */
export function drawOverlay(map, context) {
  if (map.world === null) return;
  ring(map, context, map.marked, themed("wrong"), 3, 5);
  for (const sample of map.moved.keys()) ringOne(map, context, sample, themed("ink"), 1.5, 3);
  ring(map, context, map.selected, themed("accent"), 2.5, 3);
  if (map.hovered >= 0) ringOne(map, context, map.hovered, themed("ink"), 2, 2);
  if (map.drag) drawDrag(map, context, map.drag);
  if (map.lasso.length > 1) {
    context.beginPath();
    for (const [x, y] of map.lasso) context.lineTo(x, y);
    context.closePath();
    context.strokeStyle = themed("accent");
    context.fillStyle = themed("accent");
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 0.1;
    context.fill();
    context.globalAlpha = 1;
  }
  if (map.shown.names && map.labels !== null) drawNames(map, context);
}

/**
 * @param {MapView} map
 * @param {CanvasRenderingContext2D} context
 * @param {Set<number>} samples
 * @param {string} color
 * @param {number} width
 * @param {number} gap
 */
function ring(map, context, samples, color, width, gap) {
  for (const sample of samples) ringOne(map, context, sample, color, width, gap);
}

/**
 * @param {MapView} map
 * @param {CanvasRenderingContext2D} context
 * @param {number} sample
 * @param {string} color
 * @param {number} width
 * @param {number} gap
 */
function ringOne(map, context, sample, color, width, gap) {
  const [x, y] = map.pixel(sample);
  context.strokeStyle = color;
  context.lineWidth = width;
  context.beginPath();
  context.arc(x, y, map.radius + gap, 0, 2 * Math.PI);
  context.stroke();
}

/** @param {MapView} map @param {CanvasRenderingContext2D} context @param {{x: number, y: number}} drag */
function drawDrag(map, context, drag) {
  context.strokeStyle = themed("accent");
  context.lineWidth = 1.5;
  context.beginPath();
  for (const sample of [...map.selected].slice(0, 200)) {
    context.moveTo(...map.pixel(sample));
    context.lineTo(drag.x, drag.y);
  }
  context.stroke();
  const look = style(map.target);
  context.fillStyle = look.color;
  context.beginPath();
  trace(context, look.shape, drag.x, drag.y, 8);
  context.fill();
}

/** @param {MapView} map @param {CanvasRenderingContext2D} context */
function drawNames(map, context) {
  context.font = `600 13px ${themed("font")}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const all = map.spread;
  /** @type {[number, number, number, number][]} */
  const taken = [];
  const order = all
    .map((_, i) => i)
    .sort(
      (a, b) => Number(b === map.focus) - Number(a === map.focus) || all[b].count - all[a].count,
    );
  for (const cluster of order) {
    const area = all[cluster];
    if (area.count === 0) continue;
    const text = short(map.names[cluster]);
    const wide = context.measureText(text).width + 12;
    const x = area.x * map.view.scale + map.view.x;
    const y = area.y * map.view.scale + map.view.y;
    const box = /** @type {[number, number, number, number]} */ ([
      x - wide / 2,
      y - 10,
      x + wide / 2,
      y + 10,
    ]);
    if (taken.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3]))
      continue;
    taken.push(box);
    context.globalAlpha = map.focus >= 0 && cluster !== map.focus ? 0.35 : 0.92;
    context.fillStyle = themed("panel");
    context.beginPath();
    context.roundRect(box[0], box[1], wide, 20, 10);
    context.fill();
    context.strokeStyle = style(cluster).color;
    context.lineWidth = 1.5;
    context.stroke();
    context.fillStyle = themed("ink");
    context.fillText(text, x, y + 0.5);
  }
  context.globalAlpha = 1;
}

/** @param {string} name */
function short(name) {
  const line = name.replace(/\s+/g, " ");
  return line.length > 22 ? `${line.slice(0, 21)}…` : line;
}
