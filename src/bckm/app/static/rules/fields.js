/** The parts that cards are made of: columns, bounds, chosen samples, clusters, strength. */
import { button, fill, h } from "../dom.js";
import { number, t } from "../i18n.js";
import { clusterNames, follow, known, set } from "../state.js";
import { judge, parsed, written } from "./amounts.js";
import { changed as asked } from "./draft.js";

/**
 * @typedef {import("../types.js").Card} Card
 * @typedef {import("../types.js").Column} Column
 */

let made = 0;

/** An id for a control and its label. */
function fresh() {
  made += 1;
  return `field-${made}`;
}

/**
 * A sentence with controls in it: words and elements in turn, where `{}` stands.
 * @param {string} text
 * @param {...Node} parts
 */
export function sentence(text, ...parts) {
  const words = text.split("{}");
  return h(
    "div",
    { class: "sentence" },
    words.flatMap((word, i) => [word.trim() && h("span", null, word.trim()), parts[i]]),
  );
}

/**
 * @param {string} label
 * @param {string|null|undefined} value
 * @param {(column: Column) => boolean} fits
 * @param {(name: string) => void} chosen
 */
export function columnSelect(label, value, fits, chosen) {
  const columns = (known.server?.table?.columns ?? []).filter(
    (one) => fits(one) || one.name === value,
  );
  const select = h(
    "select",
    {
      "aria-label": label,
      onchange: () => chosen(select.value.slice(1)),
      value: value ? `=${value}` : "",
    },
    h("option", { value: "", disabled: true }, t("choose.column")),
    columns.map((one) => h("option", { value: `=${one.name}` }, one.name)),
  );
  return select;
}

/**
 * @param {string} label
 * @param {[string, string][]} choices value and text
 * @param {string} value
 * @param {(value: string) => void} chosen
 */
export function select(label, choices, value, chosen) {
  const made = h(
    "select",
    { "aria-label": label, onchange: () => chosen(made.value), value },
    choices.map(([one, text]) => h("option", { value: one }, text)),
  );
  return made;
}

/**
 * A number, a share ("10%") where `shares`, or nothing.
 * @param {string} label
 * @param {number|string|null|undefined} value
 * @param {(value: number|string|null) => void} typed
 * @param {{shares?: boolean, placeholder?: string, whole?: boolean}} [how]
 */
export function numberInput(label, value, typed, how = {}) {
  const input = h("input", {
    type: "text",
    inputmode: "decimal",
    class: "amount",
    autocomplete: "off",
    "aria-label": label,
    placeholder: how.placeholder ?? "–",
    value: written(value),
    oninput: () => {
      const found = parsed(input.value, how);
      const unclear = how.whole && parsed(input.value, {}) !== undefined ? "whole" : "unclear";
      judge(
        input,
        found === undefined ? t(`amount.${unclear}`, { text: input.value, label }) : null,
      );
      if (found === undefined) asked();
      else typed(found);
    },
  });
  return input;
}

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
    const name = cluster === undefined ? "" : `${clusterNames()[cluster]}: `;
    return numberInput(
      name + t(side === "min" ? "at.least" : "at.most"),
      cluster === undefined ? value : value?.[cluster],
      (typed) => {
        if (cluster === undefined) put(card, side, typed);
        else {
          const all = Array.from(
            { length: clusterNames().length },
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
        const count = clusterNames().length;
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
        ? h(
            "table",
            { class: "each" },
            h(
              "thead",
              null,
              h(
                "tr",
                null,
                h("th", { scope: "col" }, t("cluster")),
                h("th", { scope: "col" }, t("at.least")),
                h("th", { scope: "col" }, t("at.most")),
              ),
            ),
            h(
              "tbody",
              null,
              clusterNames().map((name, i) =>
                h(
                  "tr",
                  null,
                  h("th", { scope: "row" }, name),
                  h("td", null, input("min", i)),
                  h("td", null, input("max", i)),
                ),
              ),
            ),
          )
        : sentence(t("bounds.between"), input("min"), input("max")),
      toggle,
    );
  };
  draw();
  return where;
}

/** @param {Card} card @param {string} key @param {any} value nothing: the key goes */
export function put(card, key, value) {
  if (value === null || value === undefined || value === "") delete card.keys[key];
  else card.keys[key] = value;
}

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

/**
 * One cluster, or several.
 * @param {Card} card
 * @param {boolean} several
 * @param {() => void} changed
 */
export function clusters(card, several, changed) {
  const names = clusterNames();
  if (!several) {
    return select(
      t("cluster"),
      [
        ["", t("choose.cluster")],
        ...names.map((name) => /** @type {[string, string]} */ ([name, name])),
      ],
      String(card.keys.cluster ?? ""),
      (value) => {
        put(card, "cluster", value);
        changed();
      },
    );
  }
  const chosen = new Set([card.keys.cluster ?? []].flat().map(String));
  return h(
    "fieldset",
    { class: "checks tight" },
    h("legend", null, t("forbidden.which")),
    names.map((name) => {
      const box = h("input", {
        type: "checkbox",
        checked: chosen.has(name),
        onchange: () => {
          if (box.checked) chosen.add(name);
          else chosen.delete(name);
          put(card, "cluster", chosen.size ? names.filter((one) => chosen.has(one)) : null);
          changed();
        },
      });
      return h("label", { class: "check" }, box, name);
    }),
  );
}

const WORDS = /** @type {const} */ (["slight", "nice", "strong", "must"]);

/**
 * How much a rule matters, on a slider that says what it means.
 * @param {Card} card
 * @param {() => void} changed
 */
export function strength(card, changed) {
  const id = fresh();
  const nearest = () => {
    if (typeof card.strength === "string") return WORDS.indexOf(card.strength);
    return card.strength >= 3 ? 2 : card.strength >= 0.5 ? 1 : 0;
  };
  const word = h("output", { class: "strength-word", for: id });
  const meaning = h("p", { class: "hint", id: `${id}-means` });
  const slider = h("input", {
    type: "range",
    id,
    min: 0,
    max: 3,
    step: 1,
    value: nearest(),
    "aria-describedby": `${id}-means`,
    oninput: () => {
      card.strength = WORDS[Number(slider.value)];
      draw();
      changed();
    },
  });
  const draw = () => {
    const at = WORDS[Number(slider.value)];
    const name =
      typeof card.strength === "number"
        ? t("strength.number", { n: number(card.strength) })
        : t(`strength.${at}`);
    word.textContent = name;
    word.dataset.strength = at;
    slider.setAttribute("aria-valuetext", name);
    slider.dataset.strength = at;
    meaning.textContent = t(`strength.${at}.means`);
  };
  draw();
  return h(
    "div",
    { class: "strength" },
    h("label", { for: id }, t("strength")),
    slider,
    word,
    meaning,
  );
}
