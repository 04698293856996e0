/** The parts that cards are made of: sentences, columns, choices, numbers, clusters. */
import { h } from "../dom.js";
import { t } from "../i18n.js";
import { known } from "../state.js";
import { judge, parsed, written } from "./amounts.js";
import { changed as asked, draftNames } from "./draft.js";

/**
 * @typedef {import("../types.js").Card} Card
 * @typedef {import("../types.js").Column} Column
 */

let made = 0;

/** An id for a control and its label. */
export function fresh() {
  made += 1;
  return `field-${made}`;
}

/**
 * A sentence with controls in it: words and elements in turn, where `{}` stands.
 * @param {string} text
 * @param {...Node} parts
 */
export function sentence(text, ...parts) {
  const words = text.split("{}");
  return h(
    "div",
    { class: "sentence" },
    words.flatMap((word, i) => [word.trim() && h("span", null, word.trim()), parts[i]]),
  );
}

/**
 * @param {string} label
 * @param {string|null|undefined} value
 * @param {(column: Column) => boolean} fits
 * @param {(name: string) => void} chosen
 */
export function columnSelect(label, value, fits, chosen) {
  const columns = (known.server?.table?.columns ?? []).filter(
    (one) => fits(one) || one.name === value,
  );
  const select = h(
    "select",
    {
      "aria-label": label,
      onchange: () => chosen(select.value.slice(1)),
      value: value ? `=${value}` : "",
    },
    h("option", { value: "", disabled: true }, t("choose.column")),
    columns.map((one) => h("option", { value: `=${one.name}` }, one.name)),
  );
  return select;
}

/**
 * @param {string} label
 * @param {[string, string][]} choices value and text
 * @param {string} value
 * @param {(value: string) => void} chosen
 */
export function select(label, choices, value, chosen) {
  const made = h(
    "select",
    { "aria-label": label, onchange: () => chosen(made.value), value },
    choices.map(([one, text]) => h("option", { value: one }, text)),
  );
  return made;
}

/**
 * A number, a share ("10%") where `shares`, or nothing.
 * @param {string} label
 * @param {number|string|null|undefined} value
 * @param {(value: number|string|null) => void} typed
 * @param {{shares?: boolean, placeholder?: string, whole?: boolean}} [how]
 */
export function numberInput(label, value, typed, how = {}) {
  const input = h("input", {
    type: "text",
    inputmode: "decimal",
    class: "amount",
    autocomplete: "off",
    "aria-label": label,
    placeholder: how.placeholder ?? "–",
    value: written(value),
    oninput: () => {
      const found = parsed(input.value, how);
      const unclear = how.whole && parsed(input.value, {}) !== undefined ? "whole" : "unclear";
      judge(
        input,
        found === undefined ? t(`amount.${unclear}`, { text: input.value, label }) : null,
      );
      if (found === undefined) asked();
      else typed(found);
    },
  });
  return input;
}

/** @param {Card} card @param {string} key @param {any} value nothing: the key goes */
export function put(card, key, value) {
  if (value === null || value === undefined || value === "") delete card.keys[key];
  else card.keys[key] = value;
}

/**
 * One cluster, or several.
 * @param {Card} card
 * @param {boolean} several
 * @param {() => void} changed
 */
export function clusters(card, several, changed) {
  const names = draftNames();
  if (!several) {
    return select(
      t("cluster"),
      [
        ["", t("choose.cluster")],
        ...names.map((name) => /** @type {[string, string]} */ ([name, name])),
      ],
      String(card.keys.cluster ?? ""),
      (value) => {
        put(card, "cluster", value);
        changed();
      },
    );
  }
  const chosen = new Set([card.keys.cluster ?? []].flat().map(String));
  return h(
    "fieldset",
    { class: "checks tight" },
    h("legend", null, t("forbidden.which")),
    names.map((name) => {
      const box = h("input", {
        type: "checkbox",
        checked: chosen.has(name),
        onchange: () => {
          if (box.checked) chosen.add(name);
          else chosen.delete(name);
          put(card, "cluster", chosen.size ? names.filter((one) => chosen.has(one)) : null);
          changed();
        },
      });
      return h("label", { class: "check" }, box, name);
    }),
  );
}
