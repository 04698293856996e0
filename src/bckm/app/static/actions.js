/** What the page asks of the server, and where the answers go. */
import { ApiError, get, onStale, post, send } from "./api.js";
import { landIfLost } from "./dom.js";
import { forgetGuess } from "./guess.js";
import { complain, hush, show } from "./notify.js";
import { known, set } from "./state.js";
import { t } from "./i18n.js";

/**
 * @typedef {import("./types.js").State} State
 * @typedef {import("./types.js").Version} Version
 */

/** @type {Map<string, Promise<(string|null)[]>>} */
const columns = new Map();
/** @type {Map<number, Promise<Version>>} */
const versions = new Map();

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
 * Whether a state was overtaken by a later one: answers may come in another order than they were
 * asked for.
 * @param {State} state
 */
function isOld(state) {
  return known.server !== null && state.revision < known.server.revision;
}

/**
 * Take in a state, and what belongs to it.
 * @param {State} state
 */
export async function takeIn(state) {
  if (isOld(state)) return;
  const other =
    known.server?.table?.name !== state.table?.name ||
    known.server?.table?.n_rows !== state.table?.n_rows;
  columns.clear();
  versions.clear();
  set({
    server: state,
    verdict: state.verdict,
    marked: { cards: [], samples: [] },
    pending: null,
    selection: [],
  });
  if (other) set({ points: null, labels: null, version: null, versions: [], compared: [] });
  await loadPoints();
  await loadVersions(state.shown);
}

onStale(() => void working(async () => takeIn(await get("/api/state"))));

/** Positions, if the setup tells them. */
export async function loadPoints() {
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
  const found = await version(number);
  set({ version: found, labels: found.labels, pending: null, selection: [] });
}

/** A new version, such as a change makes. @param {Version} made */
export async function takeVersion(made) {
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
  forgetGuess();
  readings.length = 0;
  const most = known.server?.app.limits.file;
  if (most && file.size > most) {
    show(t("error.too_large"), "wrong");
    return;
  }
  await working(async () => {
    await takeIn(await send("/api/open", file));
    if (known.version) set({ step: "solve" });
    else set({ step: "open" });
  });
}

/** @param {"vans"|"classes"} name */
export async function openDemo(name) {
  forgetGuess();
  readings.length = 0;
  await working(async () => {
    const state = await post("/api/demo", { name });
    set({ step: "open" }); // before the rest comes, so that nobody is called back
    await takeIn(state);
  });
}

/** Read the file in another way. @param {Record<string, unknown>} change */
export async function readAgain(change) {
  const table = known.server?.table;
  if (!table) return;
  const { reading } = table;
  /** @type {Record<string, unknown>} */
  const next = { ...reading, ...change };
  // rows to leave out and columns to fill come to those there are
  if (Array.isArray(change.drop_rows))
    next.drop_rows = [
      ...new Set([.../** @type {unknown[]} */ (reading.drop_rows ?? []), ...change.drop_rows]),
    ];
  if (change.fills)
    next.fills = {
      .../** @type {object} */ (reading.fills ?? {}),
      .../** @type {object} */ (change.fills),
    };
  await working(async () => {
    const state = await post("/api/reading", next);
    readings.push(reading);
    await takeIn(state);
  });
}

/** Ways of reading that remedies have left behind. @type {import("./types.js").Reading[]} */
export const readings = [];

/** Take the last remedy back. */
export async function takeBack() {
  const before = readings.pop();
  if (before) await working(async () => takeIn(await post("/api/reading", before)));
}

/** The state again, as it is after the server has changed it. */
export async function reload() {
  const state = await get("/api/state");
  if (!isOld(state)) set({ server: state, verdict: state.verdict });
}
