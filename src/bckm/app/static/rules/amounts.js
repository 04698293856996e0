/** Amounts as people write them: 2500, 2,500.5 or 2.500,5, 10%. */
import { language } from "../i18n.js";

/** @typedef {{shares?: boolean, whole?: boolean}} How */

const DECIMAL = language === "de" ? "," : ".";
const GROUPS = language === "de" ? "." : ",";

/** @type {Map<HTMLInputElement, string>} what was typed last and not understood, and why */
const unclear = new Map();

/**
 * An amount; a sign that may part thousands is read as the language has it.
 * @param {string} text
 * @param {How} how
 * @returns {number|string|null|undefined} a share stays a text; null: nothing; undefined: unclear
 */
export function parsed(text, how) {
  const bare = text.trim();
  if (bare === "") return null;
  const share = how.shares && bare.endsWith("%");
  const value = numeral(share ? bare.slice(0, -1).trim() : bare);
  if (value === undefined) return undefined;
  if (share) return `${value}%`;
  return how.whole && !Number.isInteger(value) ? undefined : value;
}

/** @param {string} text @returns {number|undefined} */
function numeral(text) {
  const parts = /^(-?)(\d[\d.,\s'’]*?)(?:([.,])(\d+))?$/.exec(text);
  if (parts === null) return undefined;
  const [, minus, whole, sign = "", rest = ""] = parts;
  const apart = /[.,\s'’]/.exec(whole)?.[0];
  const thousands = apart === undefined || grouped(whole, apart);
  let digits = thousands ? whole.replace(/\D/g, "") : undefined;
  if (digits === undefined) return undefined;
  if (sign && sign === apart) {
    // 1.234.567: the same sign again parts thousands
    if (rest.length !== 3) return undefined;
    digits += rest;
  } else if (sign === GROUPS && apart === undefined && grouped(whole + sign + rest, sign)) {
    digits += rest;
  } else if (sign) digits += `.${rest}`;
  return Number(minus + digits);
}

/** Are these groups of three digits? @param {string} text @param {string} sign */
function grouped(text, sign) {
  const [first, ...more] = text.split(/\s/.test(sign) ? /\s/ : sign);
  return /^[1-9]\d{0,2}$/.test(first) && more.every((one) => /^\d{3}$/.test(one));
}

/** An amount as it is typed. @param {number|string|null|undefined} value */
export function written(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" && value > 0 && value < 1)
    return written(`${+(value * 100).toPrecision(6)}%`);
  return String(value).replace(".", DECIMAL);
}

/** Remember whether a field is understood. @param {HTMLInputElement} field @param {string|null} why not */
export function judge(field, why) {
  field.setAttribute("aria-invalid", String(why !== null));
  if (why === null) unclear.delete(field);
  else unclear.set(field, why);
}

/** Why the first field on the page that is not understood is not. @returns {string|null} */
export function puzzle() {
  for (const field of unclear.keys()) if (!field.isConnected) unclear.delete(field);
  return unclear.values().next().value ?? null;
}
