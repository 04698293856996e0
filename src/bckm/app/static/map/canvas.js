/**
 * The map: three canvases, one over the other. Below are outlines, hulls and links; then the
 * points, written pixel by pixel; above what changes with the pointer, and the names of clusters.
 */
import { h } from "../dom.js";
import { style, themed, trace } from "./colors.js";
import { areas, rounded } from "./hulls.js";
import { Picker } from "./pick.js";
import { Picture } from "./stamps.js";
import { View, World, round } from "./view.js";

/**
 * @typedef {{hulls: boolean, links: boolean, names: boolean}} Shown
 * @typedef {{together: [number, number][], apart: [number, number][]}} Links
 */

export class MapView {
  /**
   * @param {HTMLElement} host
   * @param {string} label for screen readers
   */
  constructor(host, label) {
    this.host = host;
    this.base = h("canvas", { class: "layer" });
    this.dots = h("canvas", { class: "layer" });
    this.over = h("canvas", { class: "layer" });
    this.tip = h("div", { class: "tip", hidden: true });
    this.scaleText = h("span", null);
    this.scaleLine = h("span", { class: "scale-line" });
    this.scaleBar = h(
      "div",
      { class: "scale-bar", "aria-hidden": true },
      this.scaleLine,
      this.scaleText,
    );
    host.classList.add("map");
    host.tabIndex = 0;
    host.setAttribute("role", "application");
    host.setAttribute("aria-label", label);
    host.replaceChildren(this.base, this.dots, this.over, this.scaleBar, this.tip);
    this.view = new View();
    /** @type {World|null} */
    this.world = null;
    /** @type {Picker|null} */
    this.picker = null;
    /** @type {import("../types.js").Points|null} */
    this.points = null;
    /** @type {ArrayLike<number>|null} */
    this.labels = null;
    /** @type {string[]} */
    this.names = [];
    /** @type {Shown} */
    this.shown = { hulls: true, links: true, names: true };
    /** @type {Links} */
    this.links = { together: [], apart: [] };
    /** @type {[number, number][][]} lines in the world */
    this.outlines = [];
    /** @type {Set<number>} what a message is about */
    this.marked = new Set();
    /** @type {Set<number>} */
    this.selected = new Set();
    /** @type {Map<number, number>} sample -> the cluster it came from */
    this.moved = new Map();
    this.hovered = -1;
    this.focus = -1;
    this.target = -1; // the cluster that a dragged point would go to
    /** @type {[number, number][]} pixels */
    this.lasso = [];
    /** @type {{x: number, y: number}|null} where selected points are dragged to */
    this.drag = null;
    /** @type {import("./hulls.js").Area[]|null} */
    this.areas = null;
    /** @type {Picture|null} */
    this.picture = null;
    this.width = 0;
    this.height = 0;
    this.ratio = 1;
    this.fitted = false;
    this.touched = false; // by the person: then a new size does not fit again
    this.dirty = new Set(["base", "dots", "over"]);
    this.frame = 0;
    this.lastDraw = 0; // milliseconds
    /** @type {(() => void)[]} */
    this.viewListeners = [];
    this.resizing = new ResizeObserver(() => this.#resize());
    this.resizing.observe(host);
  }

  /** @param {import("../types.js").Points|null} points */
  setPoints(points) {
    if (points === this.points) return;
    this.points = points;
    this.world = points === null ? null : new World(points);
    this.picker = this.world && new Picker(this.world);
    this.labels = null;
    this.areas = null;
    this.outlines = [];
    this.fitted = this.touched = false;
    this.#fitOnce();
    this.redraw();
  }

  /**
   * @param {ArrayLike<number>|null} labels
   * @param {string[]} names
   */
  setLabels(labels, names) {
    this.labels = labels;
    this.names = names;
    this.areas = null;
    this.redraw();
  }

  /** @param {[number, number][][]} lines in the coordinates of the data */
  setOutlines(lines) {
    const world = this.world;
    if (world === null) return;
    this.outlines = lines.map((line) => line.map(([x, y]) => world.at(x, y)));
    this.redraw("base");
  }

  /** @param {...string} layers all, if none is named */
  redraw(...layers) {
    for (const layer of layers.length ? layers : ["base", "dots", "over"]) this.dirty.add(layer);
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.#draw());
  }

  /** The colours have changed. */
  restyle() {
    this.picture?.stamps.clear();
    this.redraw();
  }

  moveView() {
    this.touched = true;
    this.redraw();
    for (const listener of this.viewListeners) listener();
  }

  fit() {
    if (this.world) this.view.fit(this.world, this.width, this.height);
    this.touched = false;
    this.redraw();
    for (const listener of this.viewListeners) listener();
  }

  /** @param {number} px @param {number} py @param {number} [reach] pixels */
  sampleAt(px, py, reach = 14) {
    if (this.picker === null) return -1;
    const [x, y] = this.view.world(px, py);
    return this.picker.nearest(x, y, Math.max(reach, this.radius + 4) / this.view.scale);
  }

  /** @param {number} sample @returns {[number, number]} pixels */
  pixel(sample) {
    const world = /** @type {World} */ (this.world);
    return [
      world.x[sample] * this.view.scale + this.view.x,
      world.y[sample] * this.view.scale + this.view.y,
    ];
  }

  /** Radius of points in CSS pixels: smaller where there are many, larger where zoomed in. */
  get radius() {
    const n = this.points?.n ?? 0;
    const usual = n <= 300 ? 6 : n <= 1_500 ? 4.8 : n <= 6_000 ? 3.4 : n <= 30_000 ? 2.2 : 1.4;
    const zoomed = this.view.scale / (this.view.least * 4);
    return Math.min(8, usual * Math.max(1, Math.sqrt(zoomed) * 0.9));
  }

  #resize() {
    const width = this.host.clientWidth;
    const height = this.host.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    if (width === 0 || height === 0) return;
    if (width === this.width && height === this.height && ratio === this.ratio) return;
    this.view.x += (width - this.width) / 2;
    this.view.y += (height - this.height) / 2;
    [this.width, this.height, this.ratio] = [width, height, ratio];
    for (const canvas of [this.base, this.dots, this.over]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.picture = new Picture(this.dots.width, this.dots.height);
    if (!this.touched) this.fitted = false;
    this.#fitOnce();
    this.dirty = new Set(["base", "dots", "over"]);
    this.#draw(); // at once: a canvas of a new size is empty
  }

  #fitOnce() {
    if (this.fitted || this.world === null || this.width === 0) return;
    this.fitted = true;
    this.view.fit(this.world, this.width, this.height);
  }

  #draw() {
    if (this.frame) cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (this.width === 0) return;
    const began = performance.now();
    if (this.dirty.has("base")) this.#drawBase();
    if (this.dirty.has("dots")) this.#drawDots();
    if (this.dirty.has("over")) this.#drawOver();
    this.dirty.clear();
    this.lastDraw = performance.now() - began;
  }

  /** @param {HTMLCanvasElement} canvas */
  #cleared(canvas) {
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.lineJoin = context.lineCap = "round";
    return context;
  }

  get #areas() {
    if (this.world === null || this.labels === null) return [];
    return (this.areas ??= areas(this.world, this.labels, this.names.length, this.shown.hulls));
  }

  #drawBase() {
    const context = this.#cleared(this.base);
    this.#drawScale();
    if (this.world === null) return;
    const { scale, x, y } = this.view;
    context.strokeStyle = themed("outline");
    context.lineWidth = 1;
    context.beginPath();
    for (const line of this.outlines) {
      line.forEach(([a, b], i) => {
        if (i) context.lineTo(a * scale + x, b * scale + y);
        else context.moveTo(a * scale + x, b * scale + y);
      });
    }
    context.stroke();
    if (this.shown.hulls) {
      this.#areas.forEach(({ hull }, cluster) => {
        if (hull === null) return;
        const strong = cluster === this.focus || cluster === this.target;
        const corners = hull.map(
          ([a, b]) => /** @type {[number, number]} */ ([a * scale + x, b * scale + y]),
        );
        context.beginPath();
        rounded(context, corners, this.radius + 5);
        context.strokeStyle = context.fillStyle = style(cluster).color;
        context.globalAlpha = strong ? 0.28 : this.focus >= 0 ? 0.05 : 0.15;
        context.fill();
        context.globalAlpha = strong ? 0.9 : this.focus >= 0 ? 0.1 : 0.4;
        context.lineWidth = 1;
        context.stroke();
      });
      context.globalAlpha = 1;
    }
    if (this.shown.links) {
      this.#drawLinks(context, this.links.together, themed("together"), []);
      this.#drawLinks(context, this.links.apart, themed("wrong"), [4, 4]);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {[number, number][]} links
   * @param {string} color
   * @param {number[]} dash
   */
  #drawLinks(context, links, color, dash) {
    context.strokeStyle = color;
    context.lineWidth = 1.6;
    context.globalAlpha = links.length > 400 ? 0.35 : 0.7;
    context.setLineDash(dash);
    context.beginPath();
    for (const [one, other] of links) {
      context.moveTo(...this.pixel(one));
      context.lineTo(...this.pixel(other));
    }
    context.stroke();
    context.setLineDash([]);
    context.globalAlpha = 1;
  }

  #drawScale() {
    const world = this.world;
    const shown = world !== null && world.kind !== "components" && (this.points?.n ?? 0) > 1;
    this.scaleBar.hidden = !shown;
    if (world === null || !shown) return;
    const unit = world.unit / this.view.scale; // of a pixel
    const length = round(110 * unit);
    this.scaleLine.style.width = `${length / unit}px`;
    const [axis] = this.points?.axes ?? [""];
    const word =
      world.kind === "latlon" ? "km" : (/(?:^|[_ (])(km|m|mi|ft)\)?$/i.exec(axis)?.[1] ?? "");
    const small = word === "km" && length < 1;
    this.scaleText.textContent = small
      ? `${+(length * 1000).toPrecision(3)} m`
      : `${+length.toPrecision(3)} ${word}`;
  }

  #drawDots() {
    const context = /** @type {CanvasRenderingContext2D} */ (this.dots.getContext("2d"));
    const { picture, world, labels } = this;
    if (picture === null) return;
    picture.clear();
    if (world !== null) {
      const many = world.x.length;
      const radius = Math.round(this.radius * this.ratio * 2) / 2;
      const halo = many <= 6_000 || radius > 3.5 * this.ratio ? themed("ground") : null;
      const k = this.names.length;
      const faded = this.focus >= 0 ? 0.25 : 1;
      const stamps = Array.from({ length: k }, (_, i) =>
        picture.stamp(i, radius, halo, i === this.focus ? 1 : faded),
      );
      stamps.push(picture.stamp(-1, radius, halo, faded));
      const which = (/** @type {number} */ i) => {
        const label = labels === null ? -1 : labels[i];
        return label >= 0 && label < k ? label : k;
      };
      picture.put(
        world.x,
        world.y,
        stamps,
        which,
        this.view.scale * this.ratio,
        this.view.x * this.ratio,
        this.view.y * this.ratio,
      );
    }
    picture.show(context);
  }

  #drawOver() {
    const context = this.#cleared(this.over);
    if (this.world === null) return;
    this.#ring(context, this.marked, themed("wrong"), 3, 5);
    for (const sample of this.moved.keys()) this.#ringOne(context, sample, themed("ink"), 1.5, 3);
    this.#ring(context, this.selected, themed("accent"), 2.5, 3);
    if (this.hovered >= 0) this.#ringOne(context, this.hovered, themed("ink"), 2, 2);
    if (this.drag) this.#drawDrag(context, this.drag);
    if (this.lasso.length > 1) {
      context.beginPath();
      for (const [x, y] of this.lasso) context.lineTo(x, y);
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
    if (this.shown.names && this.labels !== null) this.#drawNames(context);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Set<number>} samples
   * @param {string} color
   * @param {number} width
   * @param {number} gap
   */
  #ring(context, samples, color, width, gap) {
    for (const sample of samples) this.#ringOne(context, sample, color, width, gap);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} sample
   * @param {string} color
   * @param {number} width
   * @param {number} gap
   */
  #ringOne(context, sample, color, width, gap) {
    const [x, y] = this.pixel(sample);
    context.strokeStyle = color;
    context.lineWidth = width;
    context.beginPath();
    context.arc(x, y, this.radius + gap, 0, 2 * Math.PI);
    context.stroke();
  }

  /** @param {CanvasRenderingContext2D} context @param {{x: number, y: number}} drag */
  #drawDrag(context, drag) {
    context.strokeStyle = themed("accent");
    context.lineWidth = 1.5;
    context.beginPath();
    for (const sample of [...this.selected].slice(0, 200)) {
      context.moveTo(...this.pixel(sample));
      context.lineTo(drag.x, drag.y);
    }
    context.stroke();
    const look = style(this.target);
    context.fillStyle = look.color;
    context.beginPath();
    trace(context, look.shape, drag.x, drag.y, 8);
    context.fill();
  }

  /** @param {CanvasRenderingContext2D} context */
  #drawNames(context) {
    context.font = `600 13px ${themed("font")}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const all = this.#areas;
    /** @type {[number, number, number, number][]} */
    const taken = [];
    const order = all
      .map((_, i) => i)
      .sort(
        (a, b) =>
          Number(b === this.focus) - Number(a === this.focus) || all[b].count - all[a].count,
      );
    for (const cluster of order) {
      const area = all[cluster];
      if (area.count === 0) continue;
      const text = short(this.names[cluster]);
      const wide = context.measureText(text).width + 12;
      const x = area.x * this.view.scale + this.view.x;
      const y = area.y * this.view.scale + this.view.y;
      const box = /** @type {[number, number, number, number]} */ ([
        x - wide / 2,
        y - 10,
        x + wide / 2,
        y + 10,
      ]);
      if (taken.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3]))
        continue;
      taken.push(box);
      context.globalAlpha = this.focus >= 0 && cluster !== this.focus ? 0.35 : 0.92;
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
}

/** @param {string} name */
function short(name) {
  const line = name.replace(/\s+/g, " ");
  return line.length > 22 ? `${line.slice(0, 21)}…` : line;
}
