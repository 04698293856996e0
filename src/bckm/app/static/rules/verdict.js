/** Can the rules be met? Said while they are written. */
import { button, fill, h, icon, link } from "../dom.js";
import { t } from "../i18n.js";
import { follow, known, set } from "../state.js";
import { check, complete, draft } from "./draft.js";
import { helpWords, noteWords, reason, ruleWords } from "./words.js";

/**
 * @param {HTMLElement} where
 * @param {() => void} redraw after cards were changed
 */
export function verdictBox(where, redraw) {
  follow(["verdict", "checking", "server"], () => draw(where, redraw));
}

/** @param {HTMLElement} where @param {() => void} redraw */
function draw(where, redraw) {
  const { verdict, checking } = known;
  if (checking && (verdict === null || verdict.verdict !== "infeasible")) {
    fill(
      where,
      h(
        "div",
        { class: "verdict checking", role: "status" },
        h("span", { class: "spin" }),
        t("verdict.checking"),
      ),
    );
    return;
  }
  if (verdict === null) {
    fill(where, h("div", { class: "verdict", role: "status" }, t("verdict.none")));
    return;
  }
  const kind = verdict.verdict;
  const unfinished = draft.cards.filter((card) => card.on && !complete(card)).length;
  const title = t(`verdict.${kind}`);
  const why = reason(verdict);
  fill(
    where,
    h(
      "div",
      { class: `verdict ${kind} ${checking ? "stale" : ""}`, role: "status", "data-verdict": kind },
      h(
        "div",
        { class: "verdict-head" },
        icon(kind === "feasible" ? "check" : "warn"),
        h("strong", null, title),
      ),
      why !== null && h("p", null, why),
      verdict.conflict.length > 0 &&
        h(
          "ul",
          { class: "conflict" },
          verdict.conflict.map((one) =>
            h(
              "li",
              null,
              link(ruleWords(one), () => {
                set({
                  marked: { cards: one.card === null ? [] : [one.card], samples: one.samples },
                });
                document
                  .querySelector(`[data-card="${CSS.escape(one.card ?? "")}"]`)
                  ?.scrollIntoView({ block: "center" });
              }),
            ),
          ),
        ),
      verdict.remedies.length > 0 &&
        h(
          "div",
          { class: "remedies" },
          h("span", { class: "hint" }, t("verdict.remedies")),
          verdict.remedies.map((remedy) =>
            h(
              "button",
              {
                type: "button",
                class: "button small",
                onclick: () => {
                  for (const card of remedy.cards) {
                    const at = draft.cards.findIndex((one) => one.id === card.id);
                    if (at < 0) draft.cards.push(structuredClone(card));
                    else draft.cards[at] = structuredClone(card);
                  }
                  redraw();
                  void check();
                },
              },
              helpWords(remedy),
            ),
          ),
        ),
      unfinished > 0 && h("p", { class: "wrong-text" }, t("verdict.unfinished", { n: unfinished })),
      verdict.notes.length > 0 &&
        h(
          "ul",
          { class: "assumed" },
          verdict.notes.map((note) => h("li", null, noteWords(note))),
        ),
      kind === "feasible" &&
        h(
          "div",
          { class: "row end" },
          button({
            text: t("rules.next"),
            class: "primary",
            id: "to-solve",
            press: () => set({ step: "solve" }),
          }),
        ),
    ),
  );
}
