/**
 * The map: three canvases, one over the other. Below are outlines, hulls and links; then the
 * points, written pixel by pixel; above what changes with the pointer, and the names of clusters.
 */
import { h } from "../dom.js";
import { themed } from "./colors.js";
import { drawGround } from "./ground.js";
import { areas } from "./hulls.js";
import { meets, placed } from "./outlines.js";
import { drawOverlay } from "./overlay.js";
import { Picker } from "./pick.js";
import { Picture } from "./stamps.js";
import { View, World } from "./view.js";

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
    /** @type {import("./outlines.js").Outline[]} */
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

  /** Are they where the points are? @param {import("./geojson.js").Line[]} lines in the coordinates of the data */
  setOutlines(lines) {
    if (this.world === null) return false;
    this.outlines = placed(lines, this.world);
    this.redraw("base");
    return meets(this.outlines, this.world);
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
    if (this.dirty.has("base")) drawGround(this, this.#cleared(this.base));
    if (this.dirty.has("dots")) this.#drawDots();
    if (this.dirty.has("over")) drawOverlay(this, this.#cleared(this.over));
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

  /** Where clusters are. */
  get spread() {
    if (this.world === null || this.labels === null) return [];
    return (this.areas ??= areas(this.world, this.labels, this.names.length, this.shown.hulls));
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
}
