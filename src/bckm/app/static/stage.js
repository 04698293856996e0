/** The map with its tools, and what the person does on it. */
import { column } from "./actions.js";
import { cancelMove, changeBox, planMove } from "./change.js";
import { button, fill, h } from "./dom.js";
import { t } from "./i18n.js";
import { MapView } from "./map/canvas.js";
import { style } from "./map/colors.js";
import { readOutlines } from "./map/geojson.js";
import { listen } from "./map/input.js";
import { show } from "./notify.js";
import { called, clusterNames, follow, known, set } from "./state.js";

const LINKS = 4_000; // lines that a picture can bear
/** @type {MapView|null} */
let map = null;

/** @param {HTMLElement} where */
export function mapStage(where) {
  const tools = h("div", { class: "tools", role: "toolbar", "aria-label": t("tools.label") });
  const host = h("div", null);
  const banner = h("div", { class: "banner", role: "status", hidden: true });
  const change = h("div", {
    class: "change",
    hidden: true,
    role: "group",
    "aria-label": t("change.label"),
  });
  const empty = h("p", { class: "empty" }, t("map.empty"));
  fill(where, h("div", { class: "map-frame" }, host, tools, banner, change, empty));
  const made = new MapView(host, t("map.label"));
  map = made;
  listen(made, hands(made));
  changeBox(change);

  follow(["points"], () => {
    made.setPoints(known.points);
    set({ outlined: made.outlines.length > 0 }); // of other places there are none
    empty.hidden = known.points !== null;
  });
  follow(["points", "labels", "server", "version", "step"], () => {
    if (known.labels && known.points && known.labels.length === known.points.n)
      made.setLabels(known.labels, clusterNames());
    else made.setLabels(null, []);
    made.moved = new Map(
      (known.job ? [] : (known.version?.moved ?? [])).map((one) => [one.sample, 0]),
    );
  });
  let mixed = false;
  follow(["version"], () => {
    const now = known.version?.mixed != null;
    if (now === mixed) return;
    mixed = now; // mixed groups lie over each other: outlines, names and lines show nothing
    made.shown = { hulls: !now, names: !now, links: !now };
    made.areas = null;
    drawTools(tools, made);
    made.redraw();
  });
  follow(["marked", "selection", "picking", "focusCluster"], () => {
    made.marked = new Set(known.marked.samples);
    made.selected = known.picking ? known.picking.has() : new Set(known.selection);
    made.selected.delete(-1);
    made.focus = known.focusCluster;
    made.redraw();
  });
  follow(["server", "points"], () => void drawLinks(made));
  follow(["tool", "version", "picking", "points", "outlined"], () => drawTools(tools, made));
  follow(["picking"], () => {
    const { picking } = known;
    banner.hidden = picking === null;
    if (picking)
      fill(
        banner,
        h("span", null, picking.word),
        button({
          text: t("samples.done"),
          class: "small primary",
          press: () => set({ picking: null }),
        }),
      );
  });
  follow(["theme"], () => made.restyle());
  /** @type {any} */ (window).bckmMap = made; // for the tests that measure
}

/** Outlines that the person drops in; they stay in the page. @param {File} file */
export async function takeOutlines(file) {
  try {
    const lines = readOutlines(await file.text());
    if (lines.length === 0) throw new RangeError("empty");
    if (known.points === null) {
      show(t("outlines.early", { name: file.name }), "wrong");
      return;
    }
    const there = map?.setOutlines(lines);
    set({ outlined: true });
    if (there) show(t("outlines.done", { name: file.name }));
    else show(t("outlines.elsewhere", { name: file.name }), "wrong");
  } catch {
    show(t("outlines.wrong", { name: file.name }), "wrong");
  }
}

/** @param {HTMLElement} where @param {MapView} made */
function drawTools(where, made) {
  const input = h("input", {
    type: "file",
    class: "unseen",
    tabIndex: -1,
    "aria-hidden": true,
    "data-open": "outlines",
    accept: ".geojson,.json",
    onchange: () => {
      const file = input.files?.[0];
      input.value = "";
      if (file) void takeOutlines(file);
    },
  });
  const centre = (/** @type {number} */ factor) => () => {
    made.view.zoom(factor, made.width / 2, made.height / 2);
    made.moveView();
  };
  /** @param {keyof import("./map/canvas.js").Shown} what @param {string} picture @param {string} label */
  const toggle = (what, picture, label) => {
    const one = button({
      icon: picture,
      label,
      pressed: made.shown[what],
      press: () => {
        made.shown = { ...made.shown, [what]: !made.shown[what] };
        made.areas = null;
        one.setAttribute("aria-pressed", String(made.shown[what]));
        made.redraw();
      },
    });
    return one;
  };
  const tool = (
    /** @type {"pan"|"move"|"lasso"} */ name,
    /** @type {string} */ picture,
    /** @type {string} */ key,
  ) =>
    button({
      icon: picture,
      label: t(`tool.${name}`),
      key,
      pressed: known.tool === name,
      id: `tool-${name}`,
      press: () => set({ tool: name }),
    });
  const changing = known.version !== null || known.picking !== null;
  fill(
    where,
    changing &&
      h(
        "div",
        { class: "tool-group" },
        tool("pan", "hand", "V"),
        known.version !== null && tool("move", "move", "M"),
        tool("lasso", "lasso", "L"),
      ),
    h(
      "div",
      { class: "tool-group" },
      button({ icon: "plus", label: t("zoom.in"), key: "+", press: centre(1.5) }),
      button({ icon: "minus", label: t("zoom.out"), key: "-", press: centre(1 / 1.5) }),
      button({ icon: "fit", label: t("zoom.all"), key: "0", press: () => made.fit() }),
    ),
    h(
      "div",
      { class: "tool-group" },
      toggle("hulls", "hull", t("show.hulls")),
      toggle("links", "link", t("show.links")),
      toggle("names", "text", t("show.names")),
      button({
        icon: "outline",
        label: t(known.outlined ? "hide.outlines" : "show.outlines"),
        id: "outlines",
        pressed: known.outlined,
        press: () => {
          if (!known.outlined) return input.click();
          made.setOutlines([]);
          set({ outlined: false });
        },
      }),
      input,
    ),
  );
}

/** @param {MapView} made @returns {import("./map/input.js").Hands} */
function hands(made) {
  let target = -1;
  /** @param {{x: number, y: number}} at */
  const under = (at) => {
    const row = document.elementFromPoint(at.x, at.y)?.closest("[data-cluster]");
    if (row instanceof HTMLElement) return Number(row.dataset.cluster);
    const box = made.host.getBoundingClientRect();
    const [x, y] = made.view.world(at.x - box.left, at.y - box.top);
    const near = made.picker?.nearestOther(x, y, (sample) => made.selected.has(sample)) ?? -1;
    return near < 0 || known.labels === null ? -1 : known.labels[near];
  };
  return {
    tool: () => (known.job ? "pan" : known.tool),
    hover: (sample, x, y) => {
      if (sample !== made.hovered) {
        made.hovered = sample;
        made.redraw("over");
        if (sample >= 0) void tell(made, sample);
      }
      made.tip.hidden = sample < 0;
      if (sample >= 0) placeTip(made, x, y);
    },
    click: (sample, more) => {
      if (known.picking) {
        if (sample >= 0) {
          known.picking.add([sample]);
          set({ picking: { ...known.picking } });
        }
        return;
      }
      const others = more ? known.selection.filter((one) => one !== sample) : [];
      cancelMove();
      set({
        selection:
          sample < 0 ? [] : more && known.selection.includes(sample) ? others : [...others, sample],
        marked: { cards: [], samples: [] },
      });
    },
    lassoed: (samples, more) => {
      if (known.picking) {
        if (samples.length) known.picking.add(samples);
        set({ picking: { ...known.picking } });
        return;
      }
      cancelMove();
      set({ selection: more ? [...new Set([...known.selection, ...samples])] : samples });
      if (samples.length && known.version) set({ tool: "move" });
    },
    grab: (sample) => {
      if (known.version === null) return [];
      const samples = known.selection.includes(sample) ? known.selection : [sample];
      set({ selection: samples });
      return samples;
    },
    dragging: (at) => {
      const now = under(at);
      made.target = now;
      if (now !== target && now >= 0) void planMove(known.selection, now);
      target = now;
    },
    dropped: (at, kept) => {
      const now = kept ? under(at) : -1;
      made.target = target = -1;
      if (now < 0) cancelMove();
      else if (known.pending?.moves[0].cluster !== now) void planMove(known.selection, now);
    },
    escape: () => {
      cancelMove();
      set({ picking: null, selection: [], focusCluster: -1, marked: { cards: [], samples: [] } });
    },
  };
}

/** What is under the pointer, in words. @param {MapView} made @param {number} sample */
async function tell(made, sample) {
  const label = known.labels?.[sample] ?? -1;
  const names = clusterNames();
  const loads = known.version?.clusters[0]?.loads.map((load) => load.column) ?? [];
  const before = known.version?.moved.find((one) => one.sample === sample);
  const dot = h("span", { class: "tip-dot" });
  dot.style.backgroundColor = style(label).color;
  const head = [
    h("strong", null, called(sample)),
    label >= 0 && h("span", null, dot, names[label] ?? ""),
  ];
  fill(made.tip, head);
  const values = await Promise.all(loads.slice(0, 4).map((name) => column(name).catch(() => [])));
  if (made.hovered !== sample) return;
  fill(
    made.tip,
    head,
    loads
      .slice(0, 4)
      .map((name, i) => h("span", { class: "hint" }, `${name}: ${values[i][sample] ?? "–"}`)),
    before &&
      h(
        "span",
        { class: "hint" },
        t("moved.from", {
          name: typeof before.from === "number" ? (names[before.from] ?? "") : before.from,
        }),
      ),
  );
}

/** @param {MapView} made @param {number} x @param {number} y */
function placeTip(made, x, y) {
  const { tip } = made;
  const left = x + 16 + tip.offsetWidth > made.width ? x - tip.offsetWidth - 12 : x + 16;
  tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, Math.min(y + 14, made.height - tip.offsetHeight - 4))}px)`;
}

/** Lines between what must be together or apart. @param {MapView} made */
async function drawLinks(made) {
  const cards = (known.server?.rules.cards ?? []).filter(
    (card) => card.on && (card.kind === "together" || card.kind === "apart"),
  );
  const { points } = known;
  /** @type {import("./map/canvas.js").Links} */
  const links = { together: [], apart: [] };
  if (points) {
    const place = new Map(points.ids.map((id, i) => [id, i]));
    for (const card of cards) {
      const lines = links[/** @type {"together"|"apart"} */ (card.kind)];
      const values =
        card.keys.column || card.keys.partners
          ? await column(card.keys.column ?? card.keys.partners).catch(() => [])
          : [];
      if (card.keys.ids)
        join(
          card.keys.ids.map((/** @type {string} */ id) => place.get(id) ?? -1),
          lines,
          card.kind,
        );
      else if (card.keys.column) {
        /** @type {Map<string, number[]>} */
        const groups = new Map();
        values.forEach(
          (value, i) =>
            value !== null && value !== "" && groups.set(value, [...(groups.get(value) ?? []), i]),
        );
        for (const group of groups.values())
          if (group.length < points.n / 3) join(group, lines, card.kind);
      } else {
        values.forEach((value, i) => {
          for (const one of (value ?? "").split(/[;,]/)) {
            const other = place.get(one.trim());
            if (other !== undefined && other !== i && lines.length < LINKS) lines.push([i, other]);
          }
        });
      }
    }
  }
  if (known.points !== points) return;
  made.links = links;
  made.redraw("base");
}

/** @param {number[]} samples @param {[number, number][]} lines @param {string} kind */
function join(samples, lines, kind) {
  const there = samples.filter((sample) => sample >= 0);
  for (let i = 1; i < there.length; i++) {
    // together: a chain says it; apart: every pair, while they are few
    const from = kind === "apart" && there.length <= 12 ? 0 : i - 1;
    for (let j = from; j < i && lines.length < LINKS; j++) lines.push([there[j], there[i]]);
  }
}
