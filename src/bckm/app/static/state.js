/** What the page knows, in one store; who draws a part of it subscribes to its keys. */

/**
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").Points} Points
 * @typedef {import("./types.js").Version} Version
 * @typedef {import("./types.js").VersionLine} VersionLine
 * @typedef {import("./types.js").Progress} Progress
 * @typedef {import("./types.js").Move} Move
 * @typedef {import("./types.js").Tried} Tried
 * @typedef {import("./types.js").Verdict} Verdict
 * @typedef {"open"|"rules"|"solve"|"take"} Step
 * @typedef {{job: number, progress: Progress|null, phase: string, objectives: number[],
 *   began: number, stopping: boolean}} Job
 * @typedef {{cards: string[], samples: number[]}} Marked
 * @typedef {{moves: Move[], tried: Tried|null, error: string|null}} Pending
 * @typedef {{card: string, word: string, add: (samples: number[]) => void,
 *   has: () => Set<number>}} Picking
 *
 * @typedef {object} Known
 * @property {State|null} server
 * @property {Points|null} points
 * @property {ArrayLike<number>|null} labels as drawn: of the version shown, or of a running fit
 * @property {Version|null} version
 * @property {VersionLine[]} versions
 * @property {Step} step
 * @property {Job|null} job
 * @property {Verdict|null} verdict
 * @property {boolean} checking
 * @property {Marked} marked what a message is about
 * @property {number[]} selection
 * @property {Pending|null} pending
 * @property {Picking|null} picking
 * @property {"pan"|"move"|"lasso"} tool
 * @property {number[]} compared versions side by side
 * @property {number} focusCluster -1 for none
 * @property {number} busy calls under way
 * @property {boolean} outlined is there a background?
 * @property {string} theme
 */

/** @type {Known} */
export const known = {
  server: null,
  points: null,
  labels: null,
  version: null,
  versions: [],
  step: "open",
  job: null,
  verdict: null,
  checking: false,
  marked: { cards: [], samples: [] },
  selection: [],
  pending: null,
  picking: null,
  tool: "pan",
  compared: [],
  focusCluster: -1,
  busy: 0,
  outlined: false,
  theme: "light",
};

/** @type {Map<keyof Known, Set<() => void>>} */
const listeners = new Map();

// A button that is drawn anew between press and release is never clicked: drawing waits so long.
const PRESSED = "button, summary, label, input:is([type=checkbox], [type=radio])";
const OTHERS = "input:not([type=checkbox], [type=radio]), select, textarea";
let pressing = false;
/** @type {Set<() => void>} */
const waiting = new Set();

function released() {
  pressing = false;
  const told = [...waiting];
  waiting.clear();
  for (const listener of told) listener();
}

window.addEventListener(
  "pointerdown",
  ({ target }) => {
    if (pressing) released(); // another finger
    pressing = target instanceof Element && !target.matches(OTHERS) && !!target.closest(PRESSED);
  },
  true,
);
for (const end of ["pointerup", "pointercancel"])
  window.addEventListener(end, () => pressing && window.setTimeout(released), true); // after the click
window.addEventListener("click", ({ target }) => {
  if (pressing && target instanceof Element && target.closest("button")) released();
});
window.addEventListener(
  "pointermove",
  (event) => pressing && event.buttons === 0 && released(), // the release was not seen here
  true,
);

/**
 * Change some of it, and tell who listens; each once.
 * @param {Partial<Known>} change
 */
export function set(change) {
  const told = new Set();
  for (const key of /** @type {(keyof Known)[]} */ (Object.keys(change))) {
    if (known[key] === change[key]) continue;
    /** @type {any} */ (known)[key] = change[key];
    for (const listener of listeners.get(key) ?? []) told.add(listener);
  }
  for (const listener of told) {
    if (pressing) waiting.add(listener);
    else listener();
  }
}

/**
 * Call `listener` now, and whenever one of the keys changes; if it draws an element that comes and
 * goes, until that has gone.
 * @param {(keyof Known)[]} keys
 * @param {() => void} listener
 * @param {Element} [owner]
 */
export function follow(keys, listener, owner) {
  let seen = false;
  const called = () => {
    if (owner && seen && !owner.isConnected) {
      for (const key of keys) listeners.get(key)?.delete(called);
      return;
    }
    seen ||= owner?.isConnected ?? false;
    listener();
  };
  for (const key of keys) {
    const those = listeners.get(key) ?? new Set();
    those.add(called);
    listeners.set(key, those);
  }
  called();
}

/** Names of the clusters: those given, else numbers from 1. @returns {string[]} */
export function clusterNames() {
  const clusters = known.server?.rules.clusters;
  const shown = known.version?.clusters.map((one) => one.name);
  if (known.step !== "rules" && shown) return shown;
  if (!clusters) return shown ?? [];
  return Array.from({ length: clusters.count ?? 0 }, (_, i) => clusters.names[i] ?? String(i + 1));
}

/** What a person calls a sample. @param {number} sample */
export function called(sample) {
  const points = known.points;
  if (points === null) return String(sample + 1);
  const name = points.names?.[sample];
  return name && name !== points.ids[sample] ? `${points.ids[sample]} ${name}` : points.ids[sample];
}
