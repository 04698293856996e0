/** Bars of loads against their bounds. */
import { h } from "./dom.js";
import { number, t } from "./i18n.js";

/**
 * A bar with marks at the bounds; what is beyond them is red, and said.
 * @param {{label: string, value: number, min: number|null, max: number|null, top: number,
 *   color: string, later?: number|null}} what `top`: the end of the scale; `later`: after a change
 */
export function bar(what) {
  const { value, min, max } = what;
  const beyond =
    (max !== null && value > max * (1 + 1e-9)) || (min !== null && value < min * (1 - 1e-9));
  const top = what.top > 0 ? what.top : 1;
  const share = (/** @type {number} */ one) => `${Math.min(100, Math.max(0, (100 * one) / top))}%`;
  const filled = h("span", { class: "bar-fill" });
  filled.style.width = share(value);
  filled.style.backgroundColor = beyond ? "" : what.color;
  const marks = [min, max].map((bound) => {
    if (bound === null || (bound === min && bound <= 0)) return null;
    const mark = h("span", { class: "bar-mark" });
    mark.style.left = share(bound);
    return mark;
  });
  const later =
    what.later !== undefined && what.later !== null && Math.abs(what.later - value) > 1e-9;
  const bounds = boundText(min, max);
  return h(
    "div",
    { class: `bar ${beyond ? "beyond" : ""}` },
    h("span", { class: "bar-label cut", title: what.label }, what.label),
    h(
      "span",
      {
        class: "bar-track",
        role: "img",
        "aria-label": `${what.label}: ${number(value)} ${bounds}`,
      },
      filled,
      marks,
    ),
    h(
      "span",
      { class: "bar-value" },
      number(value),
      later && h("b", { class: "later" }, ` → ${number(/** @type {number} */ (what.later))}`),
      bounds && h("span", { class: "hint" }, ` ${bounds}`),
    ),
  );
}

/** @param {number|null} min @param {number|null} max */
function boundText(min, max) {
  const low = min !== null && min > 0;
  if (low && max !== null)
    return min === max ? t("bound.exactly", { n: min }) : t("bound.both", { min, max });
  if (max !== null) return t("bound.most", { max });
  return low ? t("bound.least", { min }) : "";
}
