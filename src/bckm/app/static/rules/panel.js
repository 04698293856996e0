/** Step 2: how many clusters, and the cards. */
import { add, button, fill, h, icon } from "../dom.js";
import { t } from "../i18n.js";
import { follow, known, set } from "../state.js";
import { judge, parsed } from "./amounts.js";
import { adopt, changed, check, complete, draft, draftNames, newCard } from "./draft.js";
import { strength } from "./strength.js";
import { BODIES, KINDS, WITHOUT_STRENGTH } from "./kinds.js";
import { verdictBox } from "./verdict.js";

/** @typedef {import("../types.js").Card} Card */

/** @param {HTMLElement} where */
export function rulesPanel(where) {
  const first = h("div", null);
  const cards = h("div", { class: "cards" });
  const more = h("div", null);
  const verdict = h("div", { class: "verdict-place" });
  const drawCards = () =>
    fill(
      cards,
      draft.cards.map((card) => cardOf(card, drawCards)),
    );
  const drawAll = () => {
    drawClusters(first, drawCards);
    drawCards();
  };
  fill(
    where,
    h("h2", null, t("rules.title")),
    h("p", { class: "hint" }, t("rules.lead")),
    first,
    cards,
    more,
    verdict,
  );
  drawMore(more, (card) => {
    draft.cards.push(card);
    drawCards();
    const made = cards.lastElementChild;
    made?.scrollIntoView({ block: "nearest" });
    /** @type {HTMLElement|null|undefined} */ (
      made?.querySelector("select, input, .card-body button")
    )?.focus();
    changed();
  });
  verdictBox(verdict, drawAll);
  adopt();
  drawAll();
  follow(["server"], () => {
    if (adopt()) drawAll();
  });
  follow(["marked"], () => {
    for (const card of cards.children) {
      const hot = known.marked.cards.includes(/** @type {HTMLElement} */ (card).dataset.card ?? "");
      card.classList.toggle("hot", hot);
    }
  });
  follow(["step", "server", "verdict", "points"], () => {
    const asked = known.step === "rules" && draft.clusters.count > 0 && known.server?.setup;
    if (asked && known.verdict === null && !known.checking) void check();
  });
}

/** @param {HTMLElement} where @param {() => void} drawCards */
function drawClusters(where, drawCards) {
  const { clusters } = draft;
  const names = h("div", { class: "names" });
  const pattern = /^(.*?)\s*\d+$/.exec(clusters.names[0] ?? "")?.[1] ?? "";
  const word = h("input", {
    type: "text",
    id: "cluster-word",
    value: pattern,
    placeholder: t("clusters.word.example"),
    maxlength: 60,
    oninput: () => {
      rename();
      drawNames();
      changed();
    },
  });
  const rename = () => {
    const base = word.value.trim();
    clusters.names = base
      ? Array.from({ length: clusters.count }, (_, i) => `${base} ${i + 1}`)
      : [];
  };
  const resize = (/** @type {number} */ count) => {
    const before = clusters.names.length;
    clusters.count = count;
    if (before === 0) return;
    const base = word.value.trim() || t("cluster");
    clusters.names = Array.from(
      { length: count },
      (_, i) => clusters.names[i] ?? `${base} ${i + 1}`,
    );
  };
  const count = h("input", {
    type: "text",
    inputmode: "numeric",
    class: "amount big",
    id: "cluster-count",
    value: clusters.count || "",
    placeholder: "9",
    autocomplete: "off",
    oninput: () => {
      const value = parsed(count.value, { whole: true });
      const fine = typeof value === "number" && value >= 1 && value <= 10_000;
      const [text, label] = [count.value, t("clusters.count")];
      const why = value === null ? t("verdict.none") : t("amount.whole", { text, label });
      judge(count, fine ? null : why);
      if (fine) {
        resize(value);
        drawNames();
        drawCards();
      }
      changed();
    },
  });
  const drawNames = () =>
    fill(
      names,
      clusters.count > 0 &&
        clusters.count <= 200 &&
        h(
          "details",
          { class: "rename" },
          h("summary", null, t("clusters.names"), h("span", { class: "hint cut" }, preview())),
          h(
            "div",
            { class: "name-grid" },
            Array.from({ length: clusters.count }, (_, i) => {
              const input = h("input", {
                type: "text",
                value: clusters.names[i] ?? String(i + 1),
                maxlength: 100,
                "aria-label": t("clusters.name.of", { n: i + 1 }),
                oninput: () => {
                  clusters.names = draftNames();
                  clusters.names[i] = input.value.trim() || String(i + 1);
                  changed();
                },
                onchange: drawCards,
              });
              return input;
            }),
          ),
        ),
    );
  const preview = () => {
    const all = draftNames();
    return all.length > 4 ? `${all.slice(0, 3).join(", ")} … ${all.at(-1)}` : all.join(", ");
  };
  drawNames();
  fill(
    where,
    h(
      "div",
      { class: "card first" },
      h(
        "div",
        { class: "pair" },
        h(
          "label",
          { class: "field", for: "cluster-count" },
          h("span", null, t("clusters.count")),
          count,
        ),
        h(
          "label",
          { class: "field", for: "cluster-word" },
          h("span", null, t("clusters.word")),
          word,
        ),
      ),
      names,
    ),
  );
}

/** @param {Card} card @param {() => void} drawCards */
function cardOf(card, drawCards) {
  const made = h("section", {
    class: "card",
    "data-card": card.id,
    "data-kind": card.kind,
    "aria-label": t(`kind.${card.kind}`),
  });
  const altered = () => {
    made.classList.toggle("unfinished", !complete(card));
    changed();
  };
  const on = h("input", {
    type: "checkbox",
    checked: card.on,
    "aria-label": t("card.on"),
    title: t("card.on"),
    class: "switch",
    onchange: () => {
      card.on = on.checked;
      made.classList.toggle("off", !card.on);
      changed();
    },
  });
  const remove = button({
    icon: "trash",
    label: t("card.remove"),
    class: "quiet",
    press: () => {
      draft.cards = draft.cards.filter((one) => one !== card);
      if (known.picking?.card === card.id) set({ picking: null });
      drawCards();
      changed();
    },
  });
  made.classList.toggle("off", !card.on);
  made.classList.toggle("unfinished", !complete(card));
  made.classList.toggle("hot", known.marked.cards.includes(card.id));
  add(
    made,
    h(
      "div",
      { class: "card-head" },
      h("h3", null, t(`kind.${card.kind}`)),
      h("span", { class: "badge hot-badge" }, icon("warn"), t("card.conflict")),
      h("span", { class: "badge open-badge" }, icon("warn"), t("card.unfinished")),
      on,
      remove,
    ),
    h(
      "div",
      { class: "card-body" },
      BODIES[card.kind](card, altered),
      !WITHOUT_STRENGTH.has(card.kind) && strength(card, altered),
    ),
  );
  return made;
}

/** @param {HTMLElement} where @param {(card: Card) => void} chosen */
function drawMore(where, chosen) {
  const list = h(
    "div",
    { class: "kinds", hidden: true, id: "kinds" },
    KINDS.map((kind) =>
      h(
        "button",
        {
          type: "button",
          class: "kind",
          "data-kind": kind,
          onclick: () => {
            toggle(false);
            const card = newCard(kind, kind === "quota" ? { within: 0.1 } : {});
            chosen(card);
          },
        },
        h("strong", null, t(`kind.${kind}`)),
        h("span", { class: "hint" }, t(`kind.${kind}.example`)),
      ),
    ),
  );
  const opener = button({
    text: t("rules.add"),
    icon: "plus",
    id: "add-rule",
    class: "wide dashed",
    press: () => toggle(Boolean(list.hidden)),
  });
  opener.setAttribute("aria-controls", "kinds");
  const toggle = (/** @type {boolean} */ open) => {
    list.hidden = !open;
    opener.setAttribute("aria-expanded", String(open));
    if (open) /** @type {HTMLElement|null} */ (list.firstElementChild)?.focus();
  };
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    toggle(false);
    opener.focus();
  });
  toggle(false);
  fill(where, opener, list);
}
