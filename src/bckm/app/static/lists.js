/** The table of a cluster, and a way for the keyboard to move its members. */
import { column } from "./actions.js";
import { planMove } from "./change.js";
import { add, button, fill, h, headings, link } from "./dom.js";
import { t } from "./i18n.js";
import { called, clusterNames, known, set } from "./state.js";

/**
 * @typedef {import("./types.js").Version} Version
 * @typedef {import("./types.js").Cluster} Cluster
 */

const MANY = 300; // members listed at first

/** The table of a cluster. @param {Cluster} cluster @param {Version} version */
export function members(cluster, version) {
  const { points } = known;
  const place = h("div", { class: "members" });
  const loads = cluster.loads.map((load) => load.column);
  const from = new Map(version.moved.map((one) => [one.sample, one.from]));
  const names = clusterNames();
  void Promise.all(loads.map((name) => column(name).catch(() => []))).then((values) => {
    const rows = (/** @type {number[]} */ some) =>
      some.map((sample) =>
        h(
          "tr",
          null,
          h(
            "th",
            { scope: "row" },
            link(points?.ids[sample] ?? sample + 1, () =>
              set({ selection: [sample], marked: { cards: [], samples: [sample] } }),
            ),
          ),
          points?.names &&
            h("td", { class: "cut", title: points.names[sample] }, points.names[sample]),
          values.map((all) => h("td", { class: "number" }, all[sample] ?? "")),
          h(
            "td",
            null,
            mover(sample, names, version.labels[sample]),
            from.has(sample) &&
              h(
                "span",
                { class: "hint" },
                t("moved.from", {
                  name: clusterName(/** @type {any} */ (from.get(sample)), names),
                }),
              ),
          ),
        ),
      );
    const body = h("tbody", null, rows(cluster.members.slice(0, MANY)));
    const more = cluster.members.length - MANY;
    fill(
      place,
      h(
        "table",
        { class: "data small" },
        headings([t("member.id"), points?.names && t("member.name"), ...loads, t("member.move")]),
        body,
      ),
      more > 0 &&
        button({
          text: t("members.more", { n: more }),
          class: "link",
          press: () => add(body, rows(cluster.members.slice(MANY))),
        }),
    );
  });
  return place;
}

/** @param {number} sample @param {string[]} names @param {number} now */
function mover(sample, names, now) {
  const select = h(
    "select",
    {
      class: "mover",
      "aria-label": t("member.move.of", { name: called(sample) }),
      onchange: () => {
        if (select.value !== "") void planMove([sample], Number(select.value));
      },
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        // from what was chosen to what can be done about it
        if (event.key !== "Enter" || known.pending === null) return;
        event.preventDefault();
        document.getElementById("move-do")?.focus();
      },
    },
    h("option", { value: "" }, "→"),
    names.map((name, i) => i !== now && h("option", { value: i }, name)),
  );
  return select;
}

/** @param {number|string} cluster a label, or a name that is no more @param {string[]} names */
export function clusterName(cluster, names) {
  return typeof cluster === "number" ? (names[cluster] ?? String(cluster + 1)) : cluster;
}
