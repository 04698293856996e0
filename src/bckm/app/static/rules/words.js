/** Rules and what would help, in the words of the page. */
import { language, number, t, tOr } from "../i18n.js";

/** @typedef {{text: string, key?: string, values?: Record<string, string|number>}} Worded */

/** A rule; as the server says it where the page has no words. @param {Worded} rule */
export function ruleWords({ key, text, values }) {
  return key === undefined ? text : tOr(`rule.${key}`, text, values);
}

/** What was assumed or decided for the person, or is wrong. @param {import("../types.js").Note} note @returns {string} */
export function noteWords({ key, text, values }) {
  if (key === undefined) return language === "en" ? text : t("said.english", { text });
  /** @type {Record<string, string|number>} */
  const told = {};
  for (const [name, value] of Object.entries(values ?? {})) {
    if (typeof value === "object") told[name] = noteWords(value);
    else if (name === "kind") told[name] = tOr(`kind.${value}`, `${value}`);
    else if (name === "about") told[name] = value === "" ? "" : ` ${value}`;
    else if (typeof value === "number" && !Number.isInteger(value)) {
      told[name] = number(value, 6); // such as a mean that cells were filled with
    } else told[name] = value;
  }
  return tOr(`note.${key}`, text, told);
}

/** What is wrong with cells, in a few words. @param {import("../types.js").Problem} problem */
export function headline({ kind, column, rows }) {
  return tOr(`problem.${kind}`, column ?? "", { column: column ?? "", n: rows.length });
}

/** The same with what to do. @param {import("../types.js").Problem} problem */
export function problemWords(problem) {
  const said = noteWords(problem.message);
  const title = `problem.${problem.kind}`;
  if (tOr(title, "") === "") return said;
  return `${headline(problem).replace(/[^?]$/, "$&.")} ${said}`;
}

/** What would help. @param {Worded} remedy */
export function helpWords({ key, text, values }) {
  if (key === undefined || values === undefined) return text;
  const about = values.about ? `: ${values.about}` : "";
  return tOr(`help.${key}`, text, { ...values, what: `${tOr(`kind.${values.kind}`, "")}${about}` });
}

/** What keeps the rules from being checked; conflicts are told by the list of them. @param {import("../types.js").Verdict} verdict */
export function reason({ verdict, message, words, conflict }) {
  if (verdict !== "incomplete" || conflict.length > 0) return null;
  return words ? noteWords(words) : message;
}
