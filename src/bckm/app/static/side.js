/** Step 3, right: clusters with their bars and members, what was given up, and who moved. */
import { bar } from "./bars.js";
import { add, fill, h, link, table } from "./dom.js";
import { number, t } from "./i18n.js";
import { clusterName, members } from "./lists.js";
import { style, swatch } from "./map/colors.js";
import { called, clusterNames, follow, known, set } from "./state.js";
import { ruleWords } from "./rules/words.js";

/**
 * @typedef {import("./types.js").Version} Version
 */

let tab = "clusters";
/** @type {Set<number>} */
const opened = new Set();
/** Lists of the version shown; they stay while bars are drawn anew. @type {Map<number, HTMLElement>} */
const lists = new Map();
let listed = /** @type {Version|null} */ (null);

/** @param {number} cluster @param {Version} version */
function listOf(cluster, version) {
  if (listed !== version) lists.clear();
  listed = version;
  const found = lists.get(cluster) ?? members(version.clusters[cluster], version);
  lists.set(cluster, found);
  return found;
}

/** @param {HTMLElement} where */
export function sidePanel(where) {
  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": t("side.label") });
  const body = h("div", { class: "side-body", role: "tabpanel", tabIndex: -1, id: "side-body" });
  fill(where, tabs, body);
  const draw = () => {
    const { version } = known;
    if (version === null) {
      fill(tabs);
      fill(body);
      return;
    }
    const kinds = [
      { name: "clusters", text: t("side.clusters") },
      ...(version.mixed ? [{ name: "mixed", text: t("side.mixed") }] : []),
      { name: "given", text: t("side.given", { n: version.given_up.length }) },
      { name: "moved", text: t("side.moved", { n: version.moved.length }) },
    ];
    if (!kinds.some((one) => one.name === tab)) tab = "clusters";
    fill(
      tabs,
      kinds.map((one) =>
        h(
          "button",
          {
            type: "button",
            role: "tab",
            "aria-selected": one.name === tab,
            "aria-controls": "side-body",
            "data-tab": one.name,
            tabIndex: one.name === tab ? 0 : -1,
            onclick: () => {
              tab = one.name;
              draw();
            },
            onkeydown: (/** @type {KeyboardEvent} */ event) => {
              const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
              if (!step) return;
              const at = kinds.findIndex((other) => other.name === tab);
              tab = kinds[(at + step + kinds.length) % kinds.length].name;
              draw();
              /** @type {HTMLElement|null} */ (tabs.querySelector("[aria-selected=true]"))?.focus();
            },
          },
          one.text,
        ),
      ),
    );
    const scroll = body.scrollTop;
    const active = body.contains(document.activeElement) ? document.activeElement : null;
    if (tab === "clusters") drawClusters(body, version);
    else if (tab === "mixed") drawMixed(body, version);
    else if (tab === "given") drawGiven(body, version);
    else drawMoved(body, version);
    body.scrollTop = scroll;
    if (known.pending === null) for (const one of body.querySelectorAll("select")) one.value = "";
    if (active instanceof HTMLElement && active.isConnected) active.focus({ preventScroll: true });
  };
  follow(["version", "pending", "theme"], draw);
  follow(["focusCluster"], () => {
    for (const one of body.querySelectorAll("[data-cluster]")) {
      one.classList.toggle(
        "focused",
        Number(/** @type {HTMLElement} */ (one).dataset.cluster) === known.focusCluster,
      );
    }
  });
}

/** @param {HTMLElement} where @param {Version} version */
function drawClusters(where, version) {
  const tried = known.pending?.tried;
  const tops = new Map();
  const raise = (/** @type {string} */ key, /** @type {(number|null|undefined)[]} */ ...values) => {
    const finite = values.filter((one) => typeof one === "number" && Number.isFinite(one));
    tops.set(key, Math.max(tops.get(key) ?? 0, ...finite.map((one) => 1.08 * Number(one))));
  };
  for (const one of version.clusters) {
    raise(
      "",
      one.size,
      one.size_max !== null && one.size_max < version.labels.length ? one.size_max : 0,
    );
    for (const load of one.loads) raise(`load ${load.column}`, load.value, load.max);
    for (const quota of one.quotas ?? []) raise(`quota ${quota.column}`, quota.count, quota.max);
  }
  fill(
    where,
    version.clusters.map((cluster, i) => {
      const color = style(i).color;
      const open = opened.has(i);
      const bounded = cluster.size_max !== null && cluster.size_max < version.labels.length;
      const box = h(
        "section",
        {
          class: `cluster ${known.focusCluster === i ? "focused" : ""}`,
          "data-cluster": i,
          "aria-label": cluster.name,
        },
        h(
          "div",
          { class: "cluster-head" },
          swatch(i, 18),
          h(
            "button",
            {
              type: "button",
              class: "cluster-name link cut",
              title: t("cluster.focus"),
              "aria-pressed": known.focusCluster === i,
              onclick: () => set({ focusCluster: known.focusCluster === i ? -1 : i }),
            },
            cluster.name,
          ),
          h("span", { class: "hint" }, t("cluster.size", { n: cluster.size })),
          h(
            "button",
            {
              type: "button",
              class: "button small quiet",
              "aria-expanded": open,
              "data-members": i,
              onclick: () => {
                if (opened.has(i)) opened.delete(i);
                else opened.add(i);
                drawClusters(where, version);
                /** @type {HTMLElement|null} */ (
                  where.querySelector(`[data-members="${i}"]`)
                )?.focus();
              },
            },
            t(open ? "cluster.close" : "cluster.open"),
          ),
        ),
        bar({
          label: t("bar.size"),
          value: cluster.size,
          min: cluster.size_min,
          max: bounded ? cluster.size_max : null,
          top: tops.get(""),
          color,
          later: tried?.sizes[i],
        }),
        cluster.loads.map((load) =>
          bar({
            label: load.column,
            value: load.value,
            min: load.min,
            max: load.max,
            top: tops.get(`load ${load.column}`),
            color,
            later: tried?.loads?.[load.column]?.[i],
          }),
        ),
        (cluster.quotas ?? []).map((quota) =>
          bar({
            label: `${quota.category} (${quota.column})`,
            value: quota.count,
            min: quota.min === null ? null : Math.ceil(quota.min - 1e-9),
            max: quota.max === null ? null : Math.floor(quota.max + 1e-9),
            top: tops.get(`quota ${quota.column}`),
            color,
          }),
        ),
      );
      if (open) add(box, listOf(i, version));
      return box;
    }),
  );
}

/** @param {HTMLElement} where @param {Version} version */
function drawGiven(where, version) {
  if (version.given_up.length === 0) {
    fill(where, h("p", { class: "hint pad" }, t("given.none")));
    return;
  }
  fill(
    where,
    h("p", { class: "hint pad" }, t("given.lead")),
    h(
      "ul",
      { class: "given" },
      version.given_up.slice(0, 500).map((one) =>
        h(
          "li",
          null,
          link(ruleWords(one), () => set({ marked: { cards: [], samples: one.samples } })),
          h("span", { class: "figure" }, t("given.cost", { cost: number(one.cost) })),
        ),
      ),
    ),
  );
}

/** @param {HTMLElement} where @param {Version} version */
function drawMoved(where, version) {
  if (version.moved.length === 0) {
    fill(where, h("p", { class: "hint pad" }, t("moved.none")));
    return;
  }
  const names = clusterNames();
  fill(
    where,
    table(
      "data small",
      [t("member.id"), t("moved.from.column"), t("moved.to.column")],
      version.moved
        .slice(0, 1_000)
        .map((one) => [
          link(called(one.sample), () => set({ marked: { cards: [], samples: [one.sample] } })),
          clusterName(one.from, names),
          clusterName(one.to, names),
        ]),
    ),
  );
}

/** Means of each feature, cluster by cluster: how alike groups are. @param {HTMLElement} where @param {Version} version */
function drawMixed(where, version) {
  const mixed = version.mixed;
  if (mixed === null) return;
  fill(
    where,
    h("p", { class: "hint pad" }, t("mixed.lead")),
    mixed.features.map((feature) => {
      const low = Math.min(...feature.means);
      const high = Math.max(...feature.means);
      return h(
        "section",
        { class: "cluster" },
        h(
          "div",
          { class: "cluster-head" },
          h("strong", { class: "grow cut" }, feature.name),
          h("span", { class: "hint" }, t("mixed.range", { low: number(low), high: number(high) })),
        ),
        dots(feature),
        h(
          "p",
          { class: "hint" },
          t("mixed.spread", { spread: number(feature.spread, 3) }),
          feature.best_known === null
            ? ""
            : ` ${t("mixed.best", { best: number(feature.best_known, 3) })}`,
        ),
      );
    }),
  );
}

/** Means on a line that reaches a standard deviation of single rows to either side. @param {import("./types.js").Feature} feature */
function dots({ means, overall, deviation }) {
  const track = h("div", { class: "dots", "aria-hidden": true });
  const far = Math.max(deviation, ...means.map((value) => Math.abs(value - overall))) || 1;
  means.forEach((value, i) => {
    const dot = swatch(i, 14);
    dot.classList.add("dot");
    dot.style.left = `${48 + (46 * (value - overall)) / far}%`;
    track.append(dot);
  });
  return track;
}
