/** Two versions side by side: the same view of both, and what differs. */
import { version } from "./actions.js";
import { button, fill, h, table } from "./dom.js";
import { number, t } from "./i18n.js";
import { MapView } from "./map/canvas.js";
import { listen } from "./map/input.js";
import { called, follow, known, set } from "./state.js";

/** @typedef {import("./types.js").Version} Version */

/** @param {HTMLElement} where */
export function compareStage(where) {
  const head = h("div", { class: "compare-head" });
  const hosts = [h("div", null), h("div", null)];
  const titles = [h("strong", null), h("strong", null)];
  const table = h("div", { class: "compare-table" });
  fill(
    where,
    head,
    h(
      "div",
      { class: "twins" },
      hosts.map((host, i) => h("div", { class: "twin" }, titles[i], host)),
    ),
    table,
  );
  const maps = hosts.map((host, i) => new MapView(host, t("compare.map", { n: i + 1 })));
  maps.forEach((map, i) => {
    const other = maps[1 - i];
    map.viewListeners.push(() => {
      Object.assign(other.view, map.view);
      other.touched = map.touched;
      other.redraw();
    });
    listen(map, {
      tool: () => "pan",
      hover: (sample) => {
        for (const one of maps) {
          one.hovered = sample;
          one.redraw("over");
        }
      },
      click: () => undefined,
      lassoed: () => undefined,
      grab: () => [],
      dragging: () => undefined,
      dropped: () => undefined,
      escape: () => set({ compared: [] }),
    });
  });
  follow(["compared", "points"], () => {
    if (known.compared.length < 2 || known.points === null) return;
    void draw();
  });
  follow(["theme"], () => maps.forEach((map) => map.restyle()));

  async function draw() {
    const [one, other] = await Promise.all([...known.compared].sort((a, b) => a - b).map(version));
    const differs = one.labels
      .map((label, i) => (label === other.labels[i] ? -1 : i))
      .filter((i) => i >= 0);
    [one, other].forEach((version, i) => {
      maps[i].setPoints(known.points);
      maps[i].setLabels(
        version.labels,
        version.clusters.map((cluster) => cluster.name),
      );
      maps[i].selected = new Set(differs);
      titles[i].textContent = t("version.n", { n: version.version });
    });
    fill(
      head,
      h("h2", null, t("compare.title", { n: differs.length })),
      button({
        text: t("compare.close"),
        icon: "close",
        class: "small",
        id: "compare-close",
        press: () => set({ compared: [] }),
      }),
    );
    fill(
      table,
      facts(one, other),
      h(
        "ul",
        { class: "differs" },
        differs
          .slice(0, 200)
          .map((i) =>
            h(
              "li",
              null,
              h("strong", null, called(i)),
              ` ${one.clusters[one.labels[i]]?.name} → ${other.clusters[other.labels[i]]?.name}`,
            ),
          ),
      ),
    );
  }
}

/** @param {Version} one @param {Version} other */
function facts(one, other) {
  const rows = /** @type {[string, (version: Version) => string][]} */ ([
    [t("result.objective"), (version) => number(version.objective, 6)],
    [t("compare.broken"), (version) => number(version.broken.length)],
    [t("compare.given"), (version) => number(version.given_up.length)],
    [
      t("compare.sizes"),
      (version) => {
        const sizes = version.clusters.map((cluster) => cluster.size);
        return `${number(Math.min(...sizes))} – ${number(Math.max(...sizes))}`;
      },
    ],
    [t("compare.moved"), (version) => number(version.moved.length)],
  ]);
  const both = [one, other];
  return table(
    "data small",
    ["", ...both.map((version) => t("version.n", { n: version.version }))],
    rows.map(([name, value]) => [
      name,
      ...both.map((version) => h("td", { class: "number" }, value(version))),
    ]),
  );
}
