/**
 * Colours and shapes of clusters. Eight hues that people with any colour vision can tell apart in
 * three lightnesses, on light and on dark ground at least 3 : 1; a shape goes with each, so that no
 * two of 24 clusters look alike in grey either. Red is kept for what is wrong.
 */

const LIGHT = [
  "#00558c",
  "#c48700",
  "#00805c",
  "#b35f93",
  "#4a9ccb",
  "#7a4b1e",
  "#6a51c8",
  "#7d8a00",
  "#2f7bff",
  "#a8641f",
  "#2f9e44",
  "#e0559d",
  "#128b99",
  "#8f7a66",
  "#a05ce0",
  "#5c6b73",
  "#00285a",
  "#7a5200",
  "#00462f",
  "#7a1f57",
  "#1a5f78",
  "#3d2614",
  "#3a1f8a",
  "#4b5300",
];
const DARK = [
  "#5fa8e8",
  "#f2b632",
  "#35c08f",
  "#e29ac8",
  "#a5dcfa",
  "#c89b6d",
  "#a896f5",
  "#c6d24a",
  "#3b7ddb",
  "#e8a06a",
  "#7ddf8e",
  "#ff85c2",
  "#4fdede",
  "#cdbfb2",
  "#cfa0ff",
  "#a3b3be",
  "#9dbdff",
  "#b98a2c",
  "#1f9a6e",
  "#c0619c",
  "#4a9db8",
  "#a07f63",
  "#7f6ddb",
  "#98a526",
];
/** @typedef {"circle"|"square"|"up"|"diamond"|"down"|"plus"|"cross"|"star"} Shape */
/** @type {Shape[]} */
const SHAPES = ["circle", "square", "up", "diamond", "down", "plus", "star", "cross"];

export const SHAPE_COUNT = SHAPES.length;

/** @typedef {{color: string, shape: Shape}} Style */

/** Is the page dark now? */
export function dark() {
  return document.documentElement.dataset.theme === "dark";
}

/**
 * How a cluster is drawn; a negative one is no cluster yet.
 * @param {number} cluster
 * @returns {Style}
 */
export function style(cluster) {
  const colors = dark() ? DARK : LIGHT;
  if (cluster < 0) return { color: dark() ? "#9aa7b4" : "#66737f", shape: "circle" };
  const hue = cluster % 8;
  const round = Math.floor(cluster / 8);
  return { color: colors[cluster % colors.length], shape: SHAPES[(hue + round) % 8] };
}

/** The colour of a thing of the page, as the style sheet has it. @param {string} name */
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/**
 * The outline of a shape around the origin, added to the path of a context.
 * @param {CanvasRenderingContext2D|OffscreenCanvasRenderingContext2D} context
 * @param {Shape} shape
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
export function trace(context, shape, x, y, r) {
  /** @param {[number, number][]} corners */
  const polygon = (corners) => {
    corners.forEach(([dx, dy], i) =>
      i ? context.lineTo(x + r * dx, y + r * dy) : context.moveTo(x + r * dx, y + r * dy),
    );
    context.closePath();
  };
  const s = 0.88;
  const w = 0.38;
  if (shape === "circle") {
    context.moveTo(x + r, y);
    context.arc(x, y, r, 0, 2 * Math.PI);
  } else if (shape === "square")
    polygon([
      [-s, -s],
      [s, -s],
      [s, s],
      [-s, s],
    ]);
  else if (shape === "up")
    polygon([
      [0, -1.15],
      [1.1, 0.85],
      [-1.1, 0.85],
    ]);
  else if (shape === "down")
    polygon([
      [0, 1.15],
      [1.1, -0.85],
      [-1.1, -0.85],
    ]);
  else if (shape === "diamond")
    polygon([
      [0, -1.2],
      [1.2, 0],
      [0, 1.2],
      [-1.2, 0],
    ]);
  else if (shape === "plus")
    polygon([
      [-w, -1.1],
      [w, -1.1],
      [w, -w],
      [1.1, -w],
      [1.1, w],
      [w, w],
      [w, 1.1],
      [-w, 1.1],
      [-w, w],
      [-1.1, w],
      [-1.1, -w],
      [-w, -w],
    ]);
  else if (shape === "star")
    polygon(
      Array.from({ length: 10 }, (_, i) => {
        const far = i % 2 ? 0.55 : 1.25;
        return [far * Math.sin((i * Math.PI) / 5), -far * Math.cos((i * Math.PI) / 5)];
      }),
    );
  else {
    const turned = (/** @type {number} */ a, /** @type {number} */ b) =>
      /** @type {[number, number]} */ ([(a - b) * 0.72, (a + b) * 0.72]);
    polygon([
      turned(-w, -1.2),
      turned(w, -1.2),
      turned(w, -w),
      turned(1.2, -w),
      turned(1.2, w),
      turned(w, w),
      turned(w, 1.2),
      turned(-w, 1.2),
      turned(-w, w),
      turned(-1.2, w),
      turned(-1.2, -w),
      turned(-w, -w),
    ]);
  }
}

/**
 * A swatch of a cluster for lists: colour and shape, as on the map.
 * @param {number} cluster
 * @param {number} [size] pixels
 */
export function swatch(cluster, size = 16) {
  const canvas = document.createElement("canvas");
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.height = Math.round(size * ratio);
  canvas.className = "swatch";
  canvas.style.width = canvas.style.height = `${size}px`;
  canvas.setAttribute("aria-hidden", "true");
  const context = canvas.getContext("2d");
  if (context) {
    const look = style(cluster);
    context.scale(ratio, ratio);
    context.fillStyle = look.color;
    context.beginPath();
    trace(context, look.shape, size / 2, size / 2, size * 0.36);
    context.fill();
  }
  return canvas;
}
