/** What lies below the points: outlines, hulls, links, and the scale. */
import { style, themed } from "./colors.js";
import { rounded } from "./hulls.js";
import { drawOutlines } from "./outlines.js";
import { round } from "./view.js";

/** @typedef {import("./canvas.js").MapView} MapView */

/** @param {MapView} map @param {CanvasRenderingContext2D} context cleared */
export function drawGround(map, context) {
  drawScale(map);
  if (map.world === null) return;
  const { scale, x, y } = map.view;
  context.strokeStyle = themed("outline");
  context.lineWidth = 1;
  drawOutlines(context, map.outlines, map.view, map.width, map.height);
  if (map.shown.hulls) {
    map.spread.forEach(({ hull }, cluster) => {
      if (hull === null) return;
      const strong = cluster === map.focus || cluster === map.target;
      const corners = hull.map(
        ([a, b]) => /** @type {[number, number]} */ ([a * scale + x, b * scale + y]),
      );
      context.beginPath();
      rounded(context, corners, map.radius + 5);
      context.strokeStyle = context.fillStyle = style(cluster).color;
      context.globalAlpha = strong ? 0.28 : map.focus >= 0 ? 0.05 : 0.15;
      context.fill();
      context.globalAlpha = strong ? 0.9 : map.focus >= 0 ? 0.1 : 0.4;
      context.lineWidth = 1;
      context.stroke();
    });
    context.globalAlpha = 1;
  }
  if (map.shown.links) {
    drawLinks(map, context, map.links.together, themed("together"), []);
    drawLinks(map, context, map.links.apart, themed("wrong"), [4, 4]);
  }
}

/**
 * @param {MapView} map
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number][]} links
 * @param {string} color
 * @param {number[]} dash
 */
function drawLinks(map, context, links, color, dash) {
  context.strokeStyle = color;
  context.lineWidth = 1.6;
  context.globalAlpha = links.length > 400 ? 0.35 : 0.7;
  context.setLineDash(dash);
  context.beginPath();
  for (const [one, other] of links) {
    context.moveTo(...map.pixel(one));
    context.lineTo(...map.pixel(other));
  }
  context.stroke();
  context.setLineDash([]);
  context.globalAlpha = 1;
}

/** @param {MapView} map */
function drawScale(map) {
  const world = map.world;
  const shown = world !== null && world.kind !== "components" && (map.points?.n ?? 0) > 1;
  map.scaleBar.hidden = !shown;
  if (world === null || !shown) return;
  const unit = world.unit / map.view.scale; // of a pixel
  const length = round(110 * unit);
  map.scaleLine.style.width = `${length / unit}px`;
  const [axis] = map.points?.axes ?? [""];
  const word =
    world.kind === "latlon" ? "km" : (/(?:^|[_ (])(km|m|mi|ft)\)?$/i.exec(axis)?.[1] ?? "");
  const small = word === "km" && length < 1;
  map.scaleText.textContent = small
    ? `${+(length * 1000).toPrecision(3)} m`
    : `${+length.toPrecision(3)} ${word}`;
}
