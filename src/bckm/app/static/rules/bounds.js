/** Bounds of sizes and sums on a card. */
import { button, fill, h, table } from "../dom.js";
import { t } from "../i18n.js";
import { draftNames } from "./draft.js";
import { numberInput, put, sentence } from "./fields.js";

/** @typedef {import("../types.js").Card} Card */

/**
 * Bounds from below and above: one pair for all clusters, or one for each.
 * @param {Card} card
 * @param {{shares?: boolean, whole?: boolean}} how
 * @param {() => void} changed
 */
export function bounds(card, how, changed) {
  const where = h("div", { class: "bounds" });
  const each = () => Array.isArray(card.keys.min) || Array.isArray(card.keys.max);
  /** @param {"min"|"max"} side @param {number} [cluster] */
  const input = (side, cluster) => {
    const value = card.keys[side];
    const name = cluster === undefined ? "" : `${draftNames()[cluster]}: `;
    return numberInput(
      name + t(side === "min" ? "at.least" : "at.most"),
      cluster === undefined ? value : value?.[cluster],
      (typed) => {
        if (cluster === undefined) put(card, side, typed);
        else {
          const all = Array.from(
            { length: draftNames().length },
            (_, i) => card.keys[side]?.[i] ?? null,
          );
          all[cluster] = typed;
          put(card, side, all.some((one) => one !== null) ? all : null);
        }
        changed();
      },
      { ...how, placeholder: side === "min" ? t("no.least") : t("no.most") },
    );
  };
  const draw = () => {
    const toggle = button({
      text: t(each() ? "bounds.same" : "bounds.each"),
      class: "link",
      press: () => {
        const count = draftNames().length;
        for (const side of /** @type {const} */ (["min", "max"])) {
          const value = card.keys[side];
          if (value === undefined) continue;
          card.keys[side] = Array.isArray(value)
            ? value.find((one) => one !== null)
            : Array(count).fill(value);
        }
        if (!each() && card.keys.min === undefined && card.keys.max === undefined)
          card.keys.max = Array(count).fill(null);
        draw();
        changed();
      },
    });
    fill(
      where,
      each()
        ? table(
            "each",
            [t("cluster"), t("at.least"), t("at.most")],
            draftNames().map((name, i) => [name, input("min", i), input("max", i)]),
          )
        : sentence(t("bounds.between"), input("min"), input("max")),
      toggle,
    );
  };
  draw();
  return where;
}
