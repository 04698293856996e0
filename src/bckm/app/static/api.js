/** Calls of the server: with the token, errors as `ApiError`, and events as they come. */

const KEPT = "bckm.token";
const TAB = crypto.randomUUID(); // tells the windows of one person apart
let asked = ""; // the last change of what is asked that this window knows
let whenStale = () => {};
let turn = /** @type {Promise<unknown>} */ (Promise.resolve()); // the last one that was given

/** What to do when another window has changed what is asked. @param {() => void} look */
export function onStale(look) {
  whenStale = look;
}

/**
 * Ask for states, and for what depends on them, one after another: no answer overtakes another,
 * and each act begins with what the last one has left.
 * @template T
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
export function inTurn(act) {
  const mine = turn.then(act);
  turn = mine.catch(() => undefined);
  return mine;
}

/** Keep in mind which state an answer tells of. @param {any} answer */
function heardOf(answer) {
  if (typeof answer?.asked === "number") asked = String(answer.asked);
  return answer;
}

/** What went wrong, as the server says it. */
export class ApiError extends Error {
  /**
   * @param {string} kind
   * @param {string} message
   * @param {Record<string, any>} [more]
   */
  constructor(kind, message, more = {}) {
    super(message);
    this.kind = kind;
    this.more = more;
  }
}

/** Take the token out of the address; it is kept for this tab alone. */
export function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found !== null) {
    sessionStorage.setItem(KEPT, found);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEPT) !== null;
}

/** @param {Record<string, string>} [more] */
function headers(more = {}) {
  const token = sessionStorage.getItem(KEPT) ?? "";
  /** @type {Record<string, string>} */
  const found = { "X-Bckm-Token": token, "X-Bckm-Tab": TAB, ...more };
  if (asked !== "") found["X-Bckm-Asked"] = asked;
  return found;
}

/**
 * @param {string} path
 * @param {RequestInit} how
 * @returns {Promise<Response>}
 */
async function fetched(path, how) {
  let answer;
  try {
    answer = await fetch(path, { cache: "no-store", credentials: "omit", ...how });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError("offline", "");
  }
  if (answer.ok) return answer;
  /** @type {any} */
  let said = null;
  try {
    said = (await answer.json()).error;
  } catch {
    // not JSON: the status must do
  }
  if (said?.kind === "stale") whenStale();
  throw new ApiError(said?.kind ?? "internal", said?.message ?? `${answer.status}`, said ?? {});
}

/**
 * @param {string} path
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function get(path, signal) {
  return heardOf(await (await fetched(path, { headers: headers(), signal })).json());
}

/**
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function post(path, body = {}, signal) {
  const how = { "Content-Type": "application/json" };
  const sent = { method: "POST", headers: headers(how), body: JSON.stringify(body), signal };
  return heardOf(await (await fetched(path, sent)).json());
}

/**
 * Send a file as it is.
 * @param {string} path
 * @param {File} file
 * @returns {Promise<any>}
 */
export async function send(path, file) {
  const how = { "Content-Type": "application/octet-stream" };
  const address = `${path}?name=${encodeURIComponent(file.name)}`;
  const sent = { method: "POST", headers: headers(how), body: file };
  return heardOf(await (await fetched(address, sent)).json());
}

/**
 * Get a file and let the browser save it.
 * @param {string} path
 */
export async function download(path) {
  const answer = await fetched(path, { headers: headers() });
  const name = nameIn(answer.headers.get("Content-Disposition") ?? "");
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return name;
}

/** @param {string} disposition */
function nameIn(disposition) {
  const coded = /filename\*=UTF-8''([^;]+)/i.exec(disposition);
  if (coded) return decodeURIComponent(coded[1]);
  return /filename="?([^";]+)"?/i.exec(disposition)?.[1] ?? "bckm";
}

/**
 * Server-sent events, read by hand since they need the token; ends with the stream.
 * @param {string} path
 * @param {(event: string, data: any) => void} heard
 * @param {AbortSignal} [signal]
 */
export async function events(path, heard, signal) {
  const answer = await fetched(path, { headers: headers(), signal });
  if (answer.body === null) return;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value.replaceAll("\r", "")).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) tell(part, heard);
  }
}

/**
 * @param {string} part
 * @param {(event: string, data: any) => void} heard
 */
function tell(part, heard) {
  let event = "message";
  const data = [];
  for (const line of part.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5));
  }
  if (data.length) heard(event, JSON.parse(data.join("\n")));
}
