/** Texts in the person's language, and numbers as they are written there. */
import de from "./text/de.js";
import en from "./text/en.js";

/** @typedef {keyof typeof en} Key */
/** @typedef {Record<string, string|number>} Values */

/** @type {Record<string, Record<Key, string>>} */
const LANGUAGES = { en, de };
const KEPT = "bckm.language";

/** @returns {string} */
function chosen() {
  const kept = localStorage.getItem(KEPT);
  if (kept !== null && kept in LANGUAGES) return kept;
  return navigator.language.toLowerCase().startsWith("de") ? "de" : "en";
}

export const language = chosen();
export const languages = Object.keys(LANGUAGES);

/** @param {string} name */
export function speak(name) {
  localStorage.setItem(KEPT, name);
  location.reload();
}

/**
 * A text; `{n}` is replaced by values, and `{n|one|many}` chooses by number.
 * @param {Key} key
 * @param {Values} [values]
 */
export function t(key, values = {}) {
  const text = LANGUAGES[language][key] ?? en[key];
  return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name, one, many) => {
    const value = values[name] ?? "";
    if (one !== undefined) return Number(value) === 1 ? one : many;
    return typeof value === "number" ? number(value) : value;
  });
}

/**
 * A text that may not be there: what the server calls things.
 * @param {string} key
 * @param {string} other
 * @param {Values} [values]
 */
export function tOr(key, other, values) {
  return key in en ? t(/** @type {Key} */ (key), values) : other;
}

/**
 * @param {number} value
 * @param {number} [digits] significant ones
 */
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString(language);
  return value.toLocaleString(language, { maximumSignificantDigits: digits });
}

/** @param {number} share between 0 and 1 */
export function percent(share) {
  const digits = Math.abs(share) < 0.1 ? 1 : 0;
  return share.toLocaleString(language, { style: "percent", maximumFractionDigits: digits });
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 10) return `${number(Math.round(seconds * 10) / 10)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")} min`;
}
