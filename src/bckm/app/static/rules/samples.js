/** Samples that a card is about: clicked on the map, or typed. */
import { button, fill, h } from "../dom.js";
import { t } from "../i18n.js";
import { follow, known, set } from "../state.js";
import { fresh, put } from "./fields.js";

/** @typedef {import("../types.js").Card} Card */

/**
 * Samples by clicking on the map, or by typing an id.
 * @param {Card} card
 * @param {string} word what happens to them, for the banner on the map
 * @param {() => void} changed
 */
export function samples(card, word, changed) {
  const where = h("div", { class: "samples" });
  const id = fresh();
  const ids = () => /** @type {string[]} */ (card.keys.ids ?? []);
  /** @param {string[]} values */
  const change = (values) => {
    put(card, "ids", values.length ? values : null);
    draw();
    changed();
  };
  const place = () => new Map((known.points?.ids ?? []).map((one, i) => [one, i]));
  const toggle = (/** @type {number[]} */ picked) => {
    const chosen = new Set(ids());
    for (const sample of picked) {
      const one = known.points?.ids[sample];
      if (one === undefined) continue;
      if (chosen.has(one) && picked.length === 1) chosen.delete(one);
      else chosen.add(one);
    }
    change([...chosen]);
  };
  const picking = () => known.picking?.card === card.id;
  const pickButton = button({
    text: t("samples.pick"),
    class: "small",
    press: () =>
      set({
        picking: picking()
          ? null
          : {
              card: card.id,
              word,
              add: toggle,
              has: () => {
                const at = place();
                return new Set(ids().map((one) => at.get(one) ?? -1));
              },
            },
      }),
  });
  const entry = h("input", {
    type: "text",
    list: id,
    class: "entry",
    placeholder: t("samples.type"),
    "aria-label": t("samples.type"),
    autocomplete: "off",
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter") accept();
    },
    oninput: (/** @type {Event} */ event) => {
      // chosen from the list, and not typed
      if (!(event instanceof InputEvent) || event.inputType === "insertReplacementText") accept();
    },
  });
  const list = h("datalist", { id });
  const accept = () => {
    const wanted = entry.value.trim();
    const points = known.points;
    if (points === null || wanted === "") return;
    const found = points.ids.includes(wanted)
      ? wanted
      : points.ids[points.names?.indexOf(wanted) ?? -1];
    entry.setAttribute("aria-invalid", String(found === undefined));
    if (found === undefined) return;
    entry.value = "";
    change([...new Set([...ids(), found])]);
  };
  entry.addEventListener("focus", () => {
    if (list.childElementCount) return;
    const points = known.points;
    points?.ids
      .slice(0, 3_000)
      .forEach((one, i) => list.append(h("option", { value: one }, points.names?.[i] ?? "")));
  });
  const chips = h("div", { class: "chips" });
  const draw = () => {
    const at = place();
    fill(
      chips,
      ids().map((one) => {
        const sample = at.get(one);
        const name = sample === undefined ? null : known.points?.names?.[sample];
        return h(
          "span",
          { class: "chip" },
          name && name !== one ? `${one} ${name}` : one,
          button({
            icon: "close",
            label: t("samples.remove", { name: one }),
            class: "quiet",
            press: () => change(ids().filter((other) => other !== one)),
          }),
        );
      }),
    );
    set({ marked: { ...known.marked } }); // the map shows what is chosen
  };
  follow(
    ["picking", "points"],
    () => {
      fill(pickButton, t(picking() ? "samples.done" : "samples.pick"));
      pickButton.setAttribute("aria-pressed", String(picking()));
      pickButton.disabled = known.points === null;
    },
    where,
  );
  draw();
  fill(where, chips, h("div", { class: "row" }, pickButton, entry, list));
  return where;
}
