/** Step 4: files to take away, and the command that does the same. */
import { working } from "./actions.js";
import { download, get } from "./api.js";
import { button, fill, h, icon } from "./dom.js";
import { t } from "./i18n.js";
import { complain, show } from "./notify.js";
import { noteWords } from "./rules/words.js";
import { follow, known, set } from "./state.js";

const KINDS = /** @type {const} */ ([
  "xlsx",
  "csv",
  "lists.html",
  "report.html",
  "rules.toml",
  "study.bckm",
]);

/** @param {HTMLElement} where */
export function takePanel(where) {
  const body = h("div", null);
  fill(where, h("h2", null, t("take.title")), body);
  follow(["version", "step"], () => known.step === "take" && draw(body));
}

/** @param {HTMLElement} where */
function draw(where) {
  const { version } = known;
  if (version === null) {
    fill(
      where,
      h("p", { class: "note" }, t("take.nothing")),
      button({ text: t("take.solve"), class: "primary", press: () => set({ step: "solve" }) }),
    );
    return;
  }
  const command = h("div", null);
  fill(
    where,
    h("p", { class: "hint" }, t("take.version", { n: version.version })),
    h(
      "div",
      { class: "downloads" },
      KINDS.map((kind) =>
        h(
          "button",
          {
            type: "button",
            class: "download",
            "data-download": kind,
            onclick: () => void take(kind, version.version),
          },
          icon("take"),
          h(
            "span",
            { class: "grow" },
            h("strong", null, t(`take.${kind}`)),
            h("span", { class: "hint" }, t(`take.${kind}.hint`)),
          ),
        ),
      ),
    ),
    command,
    h("p", { class: "private" }, icon("lock"), t("private.long")),
  );
  void showCommand(command, version.version);
}

/** @param {string} kind @param {number} version */
async function take(kind, version) {
  const name = await working(() => download(`/api/download/${kind}?version=${version}`));
  if (name) show(t("take.done", { name }));
}

/** @param {HTMLElement} where @param {number} version */
async function showCommand(where, version) {
  try {
    /** @type {{command: string, needs: string[], note?: import("./types.js").Note|null}} */
    const { command, needs, note } = await get(`/api/command?version=${version}`);
    const text = h("code", { id: "command" }, command);
    const copy = button({
      text: t("copy"),
      icon: "copy",
      class: "small",
      id: "copy-command",
      press: async () => {
        try {
          await navigator.clipboard.writeText(command);
          show(t("copied"));
        } catch {
          const range = document.createRange();
          range.selectNodeContents(text);
          getSelection()?.removeAllRanges();
          getSelection()?.addRange(range);
          show(t("copy.self"));
        }
      },
    });
    fill(
      where,
      h("h3", null, t("take.command")),
      h("p", { class: "hint" }, t("take.command.hint")),
      h("div", { class: "command" }, h("pre", { tabIndex: 0 }, text), copy),
      note && h("p", { class: "note" }, noteWords(note)),
      needs.length > 0 && h("p", { class: "hint" }, t("take.needs", { files: needs.join(", ") })),
    );
  } catch (error) {
    complain(error);
  }
}
