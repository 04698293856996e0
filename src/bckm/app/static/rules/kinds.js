/** What each kind of card asks, in sentences. */
import { column } from "../actions.js";
import { button, fill, h, table } from "../dom.js";
import { number, t } from "../i18n.js";
import { known, set } from "../state.js";
import { bounds } from "./bounds.js";
import { draftNames } from "./draft.js";
import { clusters, columnSelect, numberInput, put, select, sentence } from "./fields.js";
import { samples } from "./samples.js";
import { filePlace } from "./files.js";

/**
 * @typedef {import("../types.js").Card} Card
 * @typedef {import("../types.js").Kind} Kind
 * @typedef {import("../types.js").Column} Column
 * @typedef {(card: Card, changed: () => void) => Node} Body
 */

/** The kinds in the order in which people need them. @type {Kind[]} */
export const KINDS = [
  "size",
  "capacity",
  "together",
  "apart",
  "quota",
  "fixed",
  "forbidden",
  "stay",
  "known",
  "links",
];

/** @param {Column} one */
const numeric = (one) => one.type === "number";
/** @param {Column} one */
const grouping = (one) => one.distinct > (one.missing > 0 ? 0 : 1); // one value may mark rows

/** @type {Record<Kind, Body>} */
export const BODIES = {
  size: (card, changed) => {
    const n = known.server?.table?.n_rows ?? 0;
    const k = Math.max(draftNames().length, 1);
    return h(
      "div",
      null,
      h("p", null, t("size.words")),
      bounds(card, { shares: true, whole: true }, changed),
      h("p", { class: "hint" }, t("size.hint", { n, k, each: number(n / k, 3) })),
    );
  },
  capacity: (card, changed) => {
    const hint = h("p", { class: "hint" });
    const tell = () => void total(card.keys.column, hint);
    tell();
    return h(
      "div",
      null,
      sentence(
        t("capacity.words"),
        columnSelect(t("capacity.column"), card.keys.column, numeric, (name) => {
          card.keys.column = name;
          tell();
          changed();
        }),
      ),
      bounds(card, {}, changed),
      hint,
    );
  },
  together: (card, changed) => links(card, changed),
  apart: (card, changed) => links(card, changed),
  known: (card, changed) =>
    sentence(
      t("known.words"),
      columnSelect(t("known.column"), card.keys.column, grouping, (name) => {
        card.keys.column = name;
        changed();
      }),
    ),
  quota,
  fixed: (card, changed) => {
    const where = h("div", null);
    const way = () => (card.keys.column !== undefined ? "column" : "ids");
    const draw = () =>
      fill(
        where,
        ways(["ids", "column"], way(), (chosen) => {
          card.keys = chosen === "column" ? { column: "" } : {};
          draw();
          changed();
        }),
        way() === "column"
          ? sentence(
              t("fixed.column"),
              columnSelect(t("fixed.column.label"), card.keys.column, grouping, (name) => {
                card.keys.column = name;
                changed();
              }),
            )
          : h(
              "div",
              null,
              samples(card, t("pick.fixed"), changed),
              sentence(t("fixed.words"), clusters(card, false, changed)),
            ),
      );
    if (card.keys.id !== undefined)
      card.keys = { ids: [String(card.keys.id)], cluster: card.keys.cluster };
    draw();
    return where;
  },
  forbidden: (card, changed) => {
    if (card.keys.id !== undefined)
      card.keys = { ids: [String(card.keys.id)], cluster: card.keys.cluster };
    return h(
      "div",
      null,
      samples(card, t("pick.forbidden"), changed),
      clusters(card, true, changed),
    );
  },
  stay: (card, changed) => {
    const where = h("div", null);
    const draw = () =>
      fill(
        where,
        h("p", null, t("stay.words")),
        filePlace(card, t("stay.file"), () => {
          draw();
          changed();
        }),
        sentence(
          t("stay.column"),
          columnSelect(t("stay.column.label"), card.keys.column, grouping, (name) => {
            delete card.keys.file;
            card.keys.column = name;
            changed();
          }),
        ),
        sentence(
          t("stay.at_most"),
          numberInput(
            t("stay.at_most.label"),
            card.keys.at_most,
            (value) => {
              put(card, "at_most", value);
              changed();
            },
            { whole: true },
          ),
        ),
        h("p", { class: "hint" }, t("stay.hint")),
      );
    draw();
    return where;
  },
  links: (card, changed) =>
    h(
      "div",
      null,
      filePlace(card, t("links.file"), changed),
      h("p", { class: "hint" }, t("links.hint")),
    ),
};

/** Kinds whose strength is said elsewhere. */
export const WITHOUT_STRENGTH = new Set(["links"]);

/** @param {string[]} values @param {string} value @param {(value: string) => void} chosen */
function ways(values, value, chosen) {
  return h(
    "div",
    { class: "ways", role: "group", "aria-label": t("ways") },
    values.map((one) =>
      button({
        text: t(/** @type {import("../i18n.js").Key} */ (`way.${one}`)),
        class: "small",
        pressed: one === value,
        press: () => chosen(one),
      }),
    ),
  );
}

/** Together and apart: by a column, by a column of partners, or by clicking. @param {Card} card @param {() => void} changed */
function links(card, changed) {
  const where = h("div", null);
  const kind = /** @type {"together"|"apart"} */ (card.kind);
  let way = card.keys.ids ? "ids" : card.keys.partners !== undefined ? "partners" : "column";
  const draw = () => {
    const chosen = (/** @type {string} */ name) => {
      card.keys = { [way]: name };
      changed();
    };
    fill(
      where,
      ways(["column", "partners", "ids"], way, (other) => {
        way = other;
        card.keys = {};
        draw();
        changed();
      }),
      way === "ids"
        ? samples(card, t(`pick.${kind}`), changed)
        : way === "partners"
          ? sentence(
              t(`${kind}.partners`),
              columnSelect(t("links.column"), card.keys.partners, grouping, chosen),
            )
          : sentence(
              t(`${kind}.column`),
              columnSelect(t("links.column"), card.keys.column, grouping, chosen),
            ),
    );
  };
  draw();
  return where;
}

/** @param {string|undefined} name @param {HTMLElement} hint */
async function total(name, hint) {
  hint.textContent = "";
  if (!name) return;
  try {
    const values = (await column(name)).map(Number);
    const sum = values.reduce((a, b) => a + (Number.isFinite(b) ? b : 0), 0);
    const k = Math.max(draftNames().length, 1);
    hint.textContent = t("capacity.hint", {
      column: name,
      sum: number(sum, 6),
      each: number(sum / k, 5),
      most: number(
        values.reduce((a, b) => (b > a ? b : a), -Infinity),
        5,
      ),
    });
  } catch {
    // no hint then
  }
}

/** @type {Body} */
function quota(card, changed) {
  const where = h("div", null);
  let way =
    card.keys.count_min !== undefined || card.keys.count_max !== undefined
      ? "count"
      : card.keys.share_min !== undefined || card.keys.share_max !== undefined
        ? "share"
        : "within";
  const columnField = () =>
    columnSelect(
      t("quota.column"),
      card.keys.column,
      (one) => grouping(one) && (one.type !== "number" || one.distinct <= 24),
      (name) => {
        card.keys = {
          column: name,
          ...(way === "within" ? { within: card.keys.within ?? 0.1 } : {}),
        };
        draw();
        changed();
      },
    );
  const draw = () => {
    const rest = h("div", null);
    fill(
      where,
      select(
        t("ways"),
        [
          ["within", t("quota.within.way")],
          ["count", t("quota.count.way")],
          ["share", t("quota.share.way")],
        ],
        way,
        (chosen) => {
          way = chosen;
          card.keys = {
            ...(card.keys.column ? { column: card.keys.column } : {}),
            ...(chosen === "within" ? { within: 0.1 } : {}),
          };
          draw();
          changed();
        },
      ),
      sentence(t("quota.words"), columnField()),
      rest,
    );
    if (way === "within") {
      const points =
        typeof card.keys.within === "number"
          ? +(card.keys.within * 100).toPrecision(6)
          : parseFloat(String(card.keys.within ?? 10).replace("±", ""));
      fill(
        rest,
        sentence(
          t("quota.within"),
          numberInput(t("quota.within.label"), points, (value) => {
            put(card, "within", typeof value === "number" ? value / 100 : null);
            changed();
          }),
        ),
        known.server?.setup?.goal === "compact" &&
          h(
            "div",
            { class: "note advice" },
            h("p", null, t("advice.quota")),
            button({
              text: t("advice.quota.do"),
              class: "small",
              press: () => set({ step: "open" }),
            }),
          ),
      );
    } else void categories(card, way, rest, changed);
  };
  draw();
  return where;
}

/** Bounds of each category. @param {Card} card @param {string} way @param {HTMLElement} rest @param {() => void} changed */
async function categories(card, way, rest, changed) {
  if (!card.keys.column) return;
  const values = await column(card.keys.column).catch(() => []);
  const names = [...new Set(values.flatMap((one) => (one === null || one === "" ? [] : [one])))]
    .sort()
    .slice(0, 40);
  /** @param {"min"|"max"} side @param {string} category */
  const input = (side, category) => {
    const key = `${way}_${side}`;
    const now = card.keys[key];
    const value = typeof now === "object" ? now?.[category] : now;
    return numberInput(
      `${category}: ${t(side === "min" ? "at.least" : "at.most")}`,
      way === "share" && typeof value === "number" ? +(value * 100).toPrecision(6) : value,
      (typed) => {
        const all = typeof card.keys[key] === "object" ? { ...card.keys[key] } : {};
        if (typeof typed !== "number") delete all[category];
        else all[category] = way === "share" ? typed / 100 : typed;
        put(card, key, Object.keys(all).length ? all : null);
        changed();
      },
    );
  };
  fill(
    rest,
    table(
      "each",
      [card.keys.column, t("at.least"), t("at.most")],
      names.map((name) => [name, input("min", name), input("max", name)]),
    ),
    way === "share" && h("p", { class: "hint" }, t("quota.share.hint")),
  );
}
