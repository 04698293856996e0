/** Rules and what would help, in the words of the page. */
import { number, t, tOr } from "../i18n.js";

/** @typedef {{text: string, key?: string, values?: Record<string, string|number>}} Worded */

/** A rule; as the server says it where the page has no words. @param {Worded} rule */
export function ruleWords({ key, text, values }) {
  return key === undefined ? text : tOr(`rule.${key}`, text, values);
}

/** What was assumed, or decided for the person. @param {Worded} note */
export function noteWords({ key, text, values }) {
  if (key === undefined) return text;
  const told = { ...values };
  for (const [name, value] of Object.entries(told)) {
    // such as a mean that cells were filled with
    if (typeof value === "number" && !Number.isInteger(value)) told[name] = number(value, 6);
  }
  return tOr(`note.${key}`, text, told);
}

/** What would help. @param {Worded} remedy */
export function helpWords({ key, text, values }) {
  if (key === undefined || values === undefined) return text;
  const about = values.about ? `: ${values.about}` : "";
  return tOr(`help.${key}`, text, { ...values, what: `${tOr(`kind.${values.kind}`, "")}${about}` });
}

/** Why the rules cannot all hold; nothing where the list of them says it. @param {import("../types.js").Verdict} verdict */
export function reason({ verdict, message, conflict }) {
  if (verdict === "feasible" || message === t(`verdict.${verdict}`)) return null;
  if (verdict === "unknown" || conflict.some((one) => one.key !== undefined)) return null;
  return conflict.length ? message.split(` - ${conflict[0].text}`)[0] : message;
}
