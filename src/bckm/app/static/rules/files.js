/** Earlier results and lists of pairs that cards refer to. */
import { previous, sendPrevious } from "../actions.js";
import { button, h } from "../dom.js";
import { t } from "../i18n.js";
import { known } from "../state.js";

/** @typedef {import("../types.js").Card} Card */

/**
 * A place for a file, and what was found in it.
 * @param {Card} card
 * @param {string} text of the button
 * @param {() => void} changed
 */
export function filePlace(card, text, changed) {
  const said = h("p", { class: "hint" });
  const take = async (/** @type {File|undefined} */ file) => {
    const answer = file && (await sendPrevious(file));
    if (!answer) return;
    delete card.keys.column;
    card.keys.file = answer.id;
    draw();
    changed();
  };
  const input = h("input", {
    type: "file",
    class: "unseen",
    tabIndex: -1,
    "aria-hidden": true,
    "data-open": "previous",
    accept: ".csv,.tsv,.txt,.xlsx,.xls,.ods,.bckm",
    onchange: () => {
      const file = input.files?.[0];
      input.value = "";
      void take(file);
    },
  });
  const draw = () => {
    const file = previous.get(card.keys.file);
    if (file) {
      const lacking = file.n_unknown ?? file.unknown.length;
      said.textContent =
        t("file.matched", { name: file.name, n: file.matched }) +
        (lacking
          ? ` ${t("file.unknown", { n: lacking, names: file.unknown.slice(0, 4).join(", ") })}`
          : "");
    } else
      said.textContent = card.keys.file ? t("file.there", { name: nameOf(card.keys.file) }) : "";
  };
  draw();
  const box = h(
    "div",
    { class: "file-place" },
    button({ text, icon: "open", class: "small", press: () => input.click() }),
    input,
    said,
  );
  box.addEventListener("dragover", (event) => event.preventDefault());
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    void take(event.dataTransfer?.files[0]);
  });
  return box;
}

/** What a file of an earlier visit is called. @param {string} id */
function nameOf(id) {
  return known.server?.files?.find((one) => one.id === id)?.name ?? id;
}
