/** Step 1, below: what the columns mean, and what makes good groups. */
import { takeIn } from "./actions.js";
import { post } from "./api.js";
import { add, button, debounced, fill, h } from "./dom.js";
import { guess, guessed, looksLikePeople } from "./guess.js";
import { t, tOr } from "./i18n.js";
import { words } from "./notify.js";
import { known, set } from "./state.js";

/**
 * @typedef {import("./types.js").Setup} Setup
 * @typedef {import("./types.js").Table} Table
 */

/** @param {HTMLElement} where @param {Table} table */
export function drawSetup(where, table) {
  const inUse = guessed.unsent || where.contains(document.activeElement);
  if (inUse && where.dataset.table === table.name) return;
  where.dataset.table = table.name;
  // a guess that nobody has touched is made anew when the table is read in another way
  const theirs = guessed.table === table.name ? null : (known.server?.setup ?? null);
  /** @type {Setup} */
  const setup = structuredClone(theirs ?? guess(table));
  const error = h("p", { class: "note wrong", role: "alert", hidden: true });
  const store = debounced(() => void keep(setup, error), 250);
  const said = JSON.stringify(setup);
  if (theirs === null && setup.position.columns.length && guessed.words !== said) {
    Object.assign(guessed, { table: table.name, words: said });
    void keep(setup, error);
  }
  const advice = h("div", null);
  const position = h("div", null);
  const redraw = () => {
    drawPosition(position, table, setup, changed);
    drawAdvice(advice, table, setup, changed);
  };
  /** @param {boolean} [again] */
  function changed(again = false) {
    Object.assign(guessed, { table: "", words: "", unsent: true });
    if (again) redraw();
    store();
  }
  const names = table.columns.map((one) => one.name);
  redraw();
  fill(
    where,
    h("h3", null, t("setup.title")),
    h(
      "div",
      { class: "pair" },
      choice("setup-id", t("setup.id"), setup.id, names, (name) => {
        setup.id = name;
        changed();
      }),
      choice("setup-name", t("setup.name"), setup.name, names, (name) => {
        setup.name = name;
        changed();
      }),
    ),
    position,
    advice,
    error,
    h(
      "div",
      { class: "row end" },
      button({
        text: t("setup.next"),
        class: "primary",
        id: "to-rules",
        press: () => set({ step: "rules" }),
      }),
    ),
  );
}

/** @param {Setup} setup @param {HTMLElement} error */
async function keep(setup, error) {
  error.hidden = true;
  try {
    await takeIn(async () => {
      const sent = JSON.stringify(setup);
      try {
        return await post("/api/setup", setup);
      } finally {
        if (JSON.stringify(setup) === sent) guessed.unsent = false;
      }
    });
  } catch (problem) {
    error.textContent = words(problem);
    error.hidden = error.textContent === "";
  }
}

/**
 * A choice of one column, or of none.
 * @param {string} id
 * @param {string} label
 * @param {string|null} value
 * @param {string[]} names
 * @param {(name: string|null) => void} chosen
 */
function choice(id, label, value, names, chosen) {
  const select = h(
    "select",
    {
      id,
      onchange: () => chosen(select.value === "" ? null : select.value.slice(1)),
      value: value === null ? "" : `=${value}`,
    },
    h("option", { value: "" }, t("none")),
    names.map((name) => h("option", { value: `=${name}` }, name)),
  );
  return h("label", { class: "field" }, h("span", null, label), select);
}

/**
 * @param {HTMLElement} where
 * @param {Table} table
 * @param {Setup} setup
 * @param {(again?: boolean) => void} changed
 */
function drawPosition(where, table, setup, changed) {
  const { position } = setup;
  const numeric = table.columns.filter((one) => one.type === "number").map((one) => one.name);
  const two = position.kind !== "features";
  const axis = (/** @type {number} */ i, /** @type {string} */ label) =>
    choice(`setup-axis-${i}`, label, position.columns[i] ?? null, numeric, (name) => {
      const both = [position.columns[0] ?? "", position.columns[1] ?? ""];
      both[i] = name ?? "";
      position.columns = both.filter(Boolean);
      changed();
    });
  fill(
    where,
    segmented("goal", t("setup.goal"), ["compact", "mixed"], setup.goal, (value) => {
      setup.goal = /** @type {Setup["goal"]} */ (value);
      if (value === "mixed" && position.kind !== "features") {
        position.kind = "features";
        position.scale = "standard";
      }
      changed(true);
    }),
    h(
      "p",
      { class: "hint" },
      t(setup.goal === "mixed" ? "setup.mixed.hint" : "setup.compact.hint"),
    ),
    segmented(
      "kind",
      t(setup.goal === "mixed" ? "setup.position.mixed" : "setup.position"),
      ["plane", "latlon", "features"],
      position.kind,
      (value) => {
        position.kind = /** @type {import("./types.js").Position["kind"]} */ (value);
        const guessed = guess(table, position.kind).position;
        position.columns = guessed.columns;
        position.scale = guessed.scale;
        changed(true);
      },
    ),
    two
      ? h(
          "div",
          { class: "pair" },
          axis(0, t(position.kind === "latlon" ? "setup.lat" : "setup.x")),
          axis(1, t(position.kind === "latlon" ? "setup.lon" : "setup.y")),
        )
      : features(numeric, position, changed),
    !two &&
      h(
        "div",
        { class: "pair" },
        pick(t("setup.scale"), ["none", "standard", "robust"], position.scale, "scale", (value) => {
          position.scale = /** @type {import("./types.js").Position["scale"]} */ (value);
          changed();
        }),
        pick(
          t("setup.missing"),
          ["error", "mean", "median"],
          position.missing,
          "missing",
          (value) => {
            position.missing = /** @type {import("./types.js").Position["missing"]} */ (value);
            changed();
          },
        ),
      ),
    h(
      "details",
      { open: setup.weight !== null },
      h("summary", null, t("setup.more")),
      choice("setup-weight", t("setup.weight"), setup.weight, numeric, (name) => {
        setup.weight = name;
        changed();
      }),
    ),
  );
}

/**
 * @param {string[]} numeric
 * @param {import("./types.js").Position} position
 * @param {(again?: boolean) => void} changed
 */
function features(numeric, position, changed) {
  return h(
    "fieldset",
    { class: "checks" },
    h("legend", null, t("setup.features")),
    numeric.map((name) => {
      const box = h("input", {
        type: "checkbox",
        checked: position.columns.includes(name),
        onchange: () => {
          const chosen = new Set(position.columns);
          if (box.checked) chosen.add(name);
          else chosen.delete(name);
          position.columns = numeric.filter((one) => chosen.has(one));
          changed();
        },
      });
      return h("label", { class: "check" }, box, name);
    }),
  );
}

/**
 * @param {string} label
 * @param {string[]} values
 * @param {string} value
 * @param {string} group
 * @param {(value: string) => void} chosen
 */
function pick(label, values, value, group, chosen) {
  const select = h(
    "select",
    { onchange: () => chosen(select.value), value },
    values.map((one) => h("option", { value: one }, tOr(`${group}.${one}`, one))),
  );
  return h("label", { class: "field" }, h("span", null, label), select);
}

/**
 * A few choices side by side.
 * @param {string} group
 * @param {string} label
 * @param {string[]} values
 * @param {string} value
 * @param {(value: string) => void} chosen
 */
function segmented(group, label, values, value, chosen) {
  return h(
    "fieldset",
    { class: "segments" },
    h("legend", null, label),
    h(
      "div",
      { class: "segment-row" },
      values.map((one) => {
        const radio = h("input", {
          type: "radio",
          name: group,
          value: one,
          checked: one === value,
          onchange: () => chosen(one),
        });
        return h(
          "label",
          { class: "segment" },
          radio,
          h("span", null, tOr(`${group}.${one}`, one)),
        );
      }),
    ),
  );
}

/**
 * Groups of people are mostly meant to be alike: say so where it looks like that.
 * @param {HTMLElement} where
 * @param {Table} table
 * @param {Setup} setup
 * @param {(again?: boolean) => void} changed
 */
function drawAdvice(where, table, setup, changed) {
  fill(where);
  if (setup.goal === "mixed" || !looksLikePeople(table)) return;
  add(
    where,
    h(
      "div",
      { class: "note advice" },
      h("p", null, t("advice.mixed")),
      button({
        text: t("advice.mixed.do"),
        class: "small",
        id: "advise-mixed",
        press: () => {
          Object.assign(setup, {
            ...guess(table, "features"),
            id: setup.id,
            name: setup.name,
            goal: "mixed",
          });
          changed(true);
        },
      }),
    ),
  );
}
