/** What the page asks of the server, and where the answers go. */
import { ApiError, get, inTurn, onStale, post, send } from "./api.js";
import { landIfLost } from "./dom.js";
import { forgetGuess } from "./guess.js";
import { complain, hush, show } from "./notify.js";
import { known, set } from "./state.js";
import { t } from "./i18n.js";

/**
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").Version} Version
 * @typedef {import("./types.js").Previous} Previous
 */

/** @type {Map<string, Promise<(string|null)[]>>} */
const columns = new Map();
/** @type {Map<number, Promise<Version>>} */
const versions = new Map();
let wanted = 0; // versions to show that were asked for: only the last one counts

/**
 * Run something that asks the server; the page shows that it is at work, and errors.
 * @template T
 * @param {() => Promise<T>} act
 * @returns {Promise<T|null>}
 */
export async function working(act) {
  set({ busy: known.busy + 1 });
  hush();
  try {
    return await act();
  } catch (error) {
    complain(error);
    return null;
  } finally {
    set({ busy: known.busy - 1 });
    landIfLost();
  }
}

/**
 * Ask for a state in turn, and take in what belongs to it.
 * @param {() => Promise<State|null>} ask null if there is nothing to take in
 * @param {boolean} [arrives] at a table, which is shown from its first step on
 */
export function takeIn(ask, arrives = false) {
  return inTurn(async () => {
    const state = await ask();
    if (state) await taken(state, arrives);
    return state;
  });
}

/** @param {State} state @param {boolean} arrives */
async function taken(state, arrives) {
  if (arrives) {
    forgetGuess();
    readings.length = 0;
    previous.clear();
  }
  const other =
    arrives ||
    known.server?.table?.name !== state.table?.name ||
    known.server?.table?.n_rows !== state.table?.n_rows;
  columns.clear();
  versions.clear();
  if (other) wanted++;
  set({
    server: state,
    verdict: state.verdict,
    marked: { cards: [], samples: [] },
    pending: null,
    selection: [],
    ...(other && { points: null, labels: null, version: null, versions: [], compared: [] }),
    // before the rest comes, so that nobody who has gone on is called back
    ...(arrives && { step: state.shown === null ? "open" : "solve" }),
  });
  await loadPoints();
  await loadVersions(state.shown);
}

onStale(() => void working(() => takeIn(() => get("/api/state"))));

/** Positions, if the setup tells them. */
async function loadPoints() {
  const position = known.server?.setup?.position;
  if (!known.server?.table || !position || position.columns.length === 0) {
    set({ points: null, labels: null });
    return;
  }
  try {
    set({ points: await get("/api/points") });
  } catch (error) {
    if (!(error instanceof ApiError) || error.kind !== "bad_input") throw error;
    set({ points: null, labels: null }); // the setup says why
  }
}

/** @param {number|null} [showNow] a version to show */
export async function loadVersions(showNow = null) {
  set({ versions: known.server?.table ? await get("/api/versions") : [] });
  const last = known.versions.at(-1)?.version ?? null;
  if (showNow ?? last) await showVersion(showNow ?? /** @type {number} */ (last));
}

/** @param {number} number @returns {Promise<Version>} */
export function version(number) {
  let found = versions.get(number);
  if (found === undefined) {
    found = get(`/api/version/${number}`);
    versions.set(number, found);
    found.catch(() => versions.delete(number));
  }
  return found;
}

/** @param {number} number */
export async function showVersion(number) {
  const mine = ++wanted;
  const found = await version(number);
  if (mine !== wanted) return;
  set({ version: found, labels: found.labels, pending: null, selection: [] });
}

/** A new version, such as a change makes. @param {Version} made */
export async function takeVersion(made) {
  wanted++;
  versions.set(made.version, Promise.resolve(made));
  set({ version: made, labels: made.labels, pending: null, selection: [] });
  set({ versions: await get("/api/versions") });
}

/**
 * The texts of a column, one per sample.
 * @param {string} name
 */
export function column(name) {
  let found = columns.get(name);
  if (found === undefined) {
    found = get(`/api/column?name=${encodeURIComponent(name)}`).then((answer) => answer.values);
    columns.set(name, found);
    found.catch(() => columns.delete(name));
  }
  return found;
}

/** @param {File} file */
export async function openFile(file) {
  const most = known.server?.app.limits.file;
  if (most && file.size > most) {
    show(t("error.too_large"), "wrong");
    return;
  }
  await working(() => takeIn(() => send("/api/open", file), true));
}

/** @param {"vans"|"classes"} name */
export async function openDemo(name) {
  await working(() => takeIn(() => post("/api/demo", { name }), true));
}

/** Read the file in another way. @param {Record<string, unknown>} change */
export async function readAgain(change) {
  await working(() =>
    takeIn(async () => {
      const reading = known.server?.table?.reading ?? {};
      const state = await post("/api/reading", changedBy(reading, change));
      readings.push(reading);
      return state;
    }),
  );
}

/**
 * A reading and a change of it: rows to leave out and columns to fill come to those there are.
 * @param {import("./types.js").Reading} reading
 * @param {Record<string, unknown>} change
 */
function changedBy(reading, change) {
  /** @type {Record<string, unknown>} */
  const next = { ...reading, ...change };
  if (Array.isArray(change.drop_rows))
    next.drop_rows = [
      ...new Set([.../** @type {unknown[]} */ (reading.drop_rows ?? []), ...change.drop_rows]),
    ];
  if (change.fills)
    next.fills = {
      .../** @type {object} */ (reading.fills ?? {}),
      .../** @type {object} */ (change.fills),
    };
  return next;
}

/** Files that cards refer to, by id. @type {Map<string, Previous>} */
export const previous = new Map();

/** @param {File} file @returns {Promise<Previous|null>} */
export function sendPrevious(file) {
  return working(async () => {
    /** @type {Previous} */
    const answer = await send("/api/previous", file);
    previous.set(answer.id, answer);
    return answer;
  });
}

/** Ways of reading that remedies have left behind. @type {import("./types.js").Reading[]} */
export const readings = [];

/** Take the last remedy back. */
export async function takeBack() {
  const before = readings.pop();
  if (before) await working(() => takeIn(() => post("/api/reading", before)));
}

/** The state again, as it is after the server has changed it. */
export function reload() {
  return inTurn(async () => {
    const state = await get("/api/state");
    set({ server: state, verdict: state.verdict });
  });
}
