/** How much a rule matters. */
import { h } from "../dom.js";
import { number, t } from "../i18n.js";
import { fresh } from "./fields.js";

/** @typedef {import("../types.js").Card} Card */

const WORDS = /** @type {const} */ (["slight", "nice", "strong", "must"]);

/**
 * How much a rule matters, on a slider that says what it means.
 * @param {Card} card
 * @param {() => void} changed
 */
export function strength(card, changed) {
  const id = fresh();
  const nearest = () => {
    if (typeof card.strength === "string") return WORDS.indexOf(card.strength);
    return card.strength >= 3 ? 2 : card.strength >= 0.5 ? 1 : 0;
  };
  const word = h("output", { class: "strength-word", for: id });
  const meaning = h("p", { class: "hint", id: `${id}-means` });
  const slider = h("input", {
    type: "range",
    id,
    min: 0,
    max: 3,
    step: 1,
    value: nearest(),
    "aria-describedby": `${id}-means`,
    oninput: () => {
      card.strength = WORDS[Number(slider.value)];
      draw();
      changed();
    },
  });
  const draw = () => {
    const at = WORDS[Number(slider.value)];
    const name =
      typeof card.strength === "number"
        ? t("strength.number", { n: number(card.strength) })
        : t(`strength.${at}`);
    word.textContent = name;
    word.dataset.strength = at;
    slider.setAttribute("aria-valuetext", name);
    slider.dataset.strength = at;
    meaning.textContent = t(`strength.${at}.means`);
  };
  draw();
  return h(
    "div",
    { class: "strength" },
    h("label", { for: id }, t("strength")),
    slider,
    word,
    meaning,
  );
}
