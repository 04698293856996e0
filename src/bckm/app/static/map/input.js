/** Pointer, wheel, fingers and keys on a map. */

/** @typedef {import("./canvas.js").MapView} MapView */

/**
 * @typedef {object} Hands what the person's acts mean
 * @property {() => "pan"|"move"|"lasso"} tool
 * @property {(sample: number, x: number, y: number) => void} hover -1 for none
 * @property {(sample: number, more: boolean) => void} click -1 for none
 * @property {(samples: number[], more: boolean) => void} lassoed
 * @property {(sample: number) => number[]} grab the samples that go along; none: not to be moved
 * @property {(target: {x: number, y: number}) => void} dragging client coordinates
 * @property {(target: {x: number, y: number}, dropped: boolean) => void} dropped
 * @property {() => void} escape
 */

const STEP = 60; // pixels of an arrow key

/**
 * @param {MapView} map
 * @param {Hands} hands
 */
export function listen(map, hands) {
  /** @type {Map<number, {x: number, y: number}>} */
  const down = new Map();
  let start = { x: 0, y: 0 };
  let act = /** @type {"none"|"pan"|"lasso"|"drag"|"pinch"} */ ("none");
  let went = false;

  /** @param {MouseEvent} event */
  const place = (event) => {
    const box = map.host.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  map.host.addEventListener("pointerdown", (event) => {
    if (event.button > 0 || event.target instanceof HTMLButtonElement) return;
    map.host.setPointerCapture(event.pointerId);
    const at = place(event);
    down.set(event.pointerId, at);
    if (down.size === 2) {
      act = "pinch";
      map.lasso = [];
      map.drag = null;
      return;
    }
    start = at;
    went = false;
    act = "pan";
    if (hands.tool() === "lasso") {
      act = "lasso";
      map.lasso = [[at.x, at.y]];
    } else if (hands.tool() === "move") {
      const sample = map.sampleAt(at.x, at.y);
      if (sample >= 0 && hands.grab(sample).length) act = "drag";
    }
  });

  map.host.addEventListener("pointermove", (event) => {
    const at = place(event);
    const before = down.get(event.pointerId);
    if (before === undefined) {
      const sample = map.sampleAt(at.x, at.y, event.pointerType === "touch" ? 20 : 10);
      hands.hover(sample, at.x, at.y);
      return;
    }
    if (Math.hypot(at.x - start.x, at.y - start.y) > 4) went = true;
    if (act === "pinch") {
      const [one, other] = [...down.entries()].map(([id, where]) =>
        id === event.pointerId ? [where, at] : [where, where],
      );
      const far = (/** @type {number} */ i) =>
        Math.hypot(one[i].x - other[i].x, one[i].y - other[i].y);
      map.view.zoom(
        far(1) / Math.max(far(0), 1),
        (one[1].x + other[1].x) / 2,
        (one[1].y + other[1].y) / 2,
      );
      map.view.x += (at.x - before.x) / 2;
      map.view.y += (at.y - before.y) / 2;
      map.moveView();
    } else if (act === "pan" && went) {
      map.view.x += at.x - before.x;
      map.view.y += at.y - before.y;
      map.moveView();
    } else if (act === "lasso") {
      map.lasso.push([at.x, at.y]);
      map.redraw("over");
    } else if (act === "drag" && went) {
      map.drag = at;
      hands.dragging({ x: event.clientX, y: event.clientY });
      map.redraw("over", "base");
    }
    down.set(event.pointerId, at);
  });

  /** @param {PointerEvent} event */
  const ended = (event) => {
    const at = down.get(event.pointerId);
    if (at === undefined) return;
    down.delete(event.pointerId);
    const more = event.shiftKey || event.ctrlKey || event.metaKey;
    const kept = event.type === "pointerup";
    if (act === "drag" && went) {
      map.drag = null;
      hands.dropped({ x: event.clientX, y: event.clientY }, kept);
    } else if (act === "lasso" && went) {
      const polygon = map.lasso.map(([x, y]) => map.view.world(x, y));
      map.lasso = [];
      if (kept && polygon.length > 2) hands.lassoed(map.picker?.within(polygon) ?? [], more);
    } else if (act !== "pinch" && !went && kept) {
      map.lasso = [];
      hands.click(map.sampleAt(at.x, at.y), more);
    }
    if (down.size === 0) act = "none";
    map.redraw("over", "base");
  };
  map.host.addEventListener("pointerup", ended);
  map.host.addEventListener("pointercancel", ended);
  map.host.addEventListener("pointerleave", () => hands.hover(-1, 0, 0));

  map.host.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const at = place(event);
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
      map.view.zoom(Math.exp(-event.deltaY * lines * 0.0015), at.x, at.y);
      map.moveView();
    },
    { passive: false },
  );

  map.host.addEventListener("keydown", (event) => {
    if (event.target !== map.host) return;
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => (map.view.x += STEP),
      ArrowRight: () => (map.view.x -= STEP),
      ArrowUp: () => (map.view.y += STEP),
      ArrowDown: () => (map.view.y -= STEP),
      "+": () => map.view.zoom(1.3, map.width / 2, map.height / 2),
      "=": () => map.view.zoom(1.3, map.width / 2, map.height / 2),
      "-": () => map.view.zoom(1 / 1.3, map.width / 2, map.height / 2),
    };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (keys[event.key]) {
      keys[event.key]();
      map.moveView();
    } else if (event.key === "0") map.fit();
    else if (event.key === "Escape") {
      map.lasso = [];
      map.drag = null;
      hands.escape();
    } else return;
    event.preventDefault();
  });
}
