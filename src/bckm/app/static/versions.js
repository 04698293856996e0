/** Versions: the list of them, undo and redo, and the choice of two to compare. */
import { showVersion, working } from "./actions.js";
import { button, fill, h } from "./dom.js";
import { number, t, tOr } from "./i18n.js";
import { say } from "./notify.js";
import { noteWords } from "./rules/words.js";
import { follow, known, set } from "./state.js";

/** Versions the person went through, for undo and redo. */
const path = { versions: /** @type {number[]} */ ([]), at: -1 };

/** @param {HTMLElement} where */
export function versionsPanel(where) {
  follow(["versions", "version", "compared"], () => drawVersions(where));
  follow(["version"], remember);
}

function remember() {
  const shown = known.version?.version;
  if (shown === undefined) {
    path.versions = [];
    path.at = -1;
  } else if (path.versions[path.at] !== shown) {
    path.versions = [...path.versions.slice(0, path.at + 1), shown];
    path.at = path.versions.length - 1;
  }
}

/** @param {-1|1} step */
export function canStep(step) {
  return known.job === null && path.versions[path.at + step] !== undefined;
}

/** Undo (-1) or redo (1). @param {-1|1} step */
export async function stepVersion(step) {
  if (!canStep(step)) return;
  path.at += step;
  await working(() => showVersion(path.versions[path.at]));
  say(t(step < 0 ? "undone" : "redone"));
}

/** @param {HTMLElement} where */
function drawVersions(where) {
  const { versions, version, compared } = known;
  if (versions.length === 0) {
    fill(where);
    return;
  }
  fill(
    where,
    h("h3", null, t("versions.title")),
    h(
      "div",
      { class: "row" },
      button({
        text: t("undo"),
        icon: "undo",
        class: "small",
        id: "undo",
        disabled: !canStep(-1),
        press: () => void stepVersion(-1),
      }),
      button({
        text: t("redo"),
        icon: "redo",
        class: "small",
        id: "redo",
        disabled: !canStep(1),
        press: () => void stepVersion(1),
      }),
    ),
    h(
      "ol",
      { class: "versions" },
      [...versions]
        .reverse()
        .slice(0, 30)
        .map((one) => {
          const box = h("input", {
            type: "checkbox",
            checked: compared.includes(one.version),
            "aria-label": t("versions.compare.this", { n: one.version }),
            title: t("versions.compare.this", { n: one.version }),
            onchange: () => {
              const others = known.compared.filter((other) => other !== one.version);
              set({ compared: box.checked ? [...others, one.version].slice(-2) : others });
            },
          });
          return h(
            "li",
            { class: one.version === version?.version ? "current" : "" },
            versions.length > 1 && box,
            h(
              "button",
              {
                type: "button",
                class: "version",
                "aria-current": one.version === version?.version,
                "data-version": one.version,
                onclick: () => void working(() => showVersion(one.version)),
              },
              h("strong", null, t("version.n", { n: one.version })),
              h(
                "span",
                { class: "hint cut" },
                one.note ? noteWords(one.note) : tOr(`made.${one.made}`, one.made),
              ),
              h("span", { class: "figure" }, number(one.objective, 5)),
            ),
          );
        }),
    ),
    versions.length > 1 && h("p", { class: "hint" }, t("versions.compare.hint")),
  );
}
