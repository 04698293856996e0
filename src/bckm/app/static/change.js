/** Moving samples by hand: what it costs and which rules break, before it is done. */
import { reload, takeVersion, working } from "./actions.js";
import { post } from "./api.js";
import { button, fill, h, icon } from "./dom.js";
import { number, t } from "./i18n.js";
import { swatch } from "./map/colors.js";
import { say, words } from "./notify.js";
import { called, clusterNames, follow, known, set } from "./state.js";
import { ruleWords } from "./rules/words.js";

/**
 * @typedef {import("./types.js").Move} Move
 * @typedef {import("./types.js").Tried} Tried
 */

let asking = /** @type {AbortController|null} */ (null);

/**
 * Ask what it would mean if samples went to a cluster.
 * @param {number[]} samples
 * @param {number} cluster
 */
export async function planMove(samples, cluster) {
  const { version } = known;
  if (version === null || known.job !== null) return;
  const moves = samples
    .filter((sample) => version.labels[sample] !== cluster)
    .map((sample) => ({ sample, cluster }));
  if (moves.length === 0) {
    cancelMove();
    return;
  }
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  set({ pending: { moves, tried: null, error: null }, selection: samples });
  try {
    /** @type {Tried} */
    const tried = await post("/api/try", { version: version.version, moves }, mine.signal);
    if (mine.signal.aborted) return;
    set({ pending: { moves, tried, error: null } });
    say(costWords(tried));
  } catch (error) {
    const text = words(error);
    if (!mine.signal.aborted && text !== null)
      set({ pending: { moves, tried: null, error: text } });
  }
}

export function cancelMove() {
  asking?.abort();
  set({ pending: null });
}

/** Rules that the move breaks; not those that were broken before. @param {Tried} tried */
function breaks(tried) {
  return tried.new ?? tried.broken;
}

/** @param {Tried} tried */
export function costWords(tried) {
  const change =
    Math.abs(tried.delta_percent) < 0.05
      ? t("cost.same")
      : t(tried.delta > 0 ? "cost.worse" : "cost.better", {
          percent: number(Math.abs(tried.delta_percent), 2),
        });
  return breaks(tried).length
    ? `${change} ${t("cost.broken", { n: breaks(tried).length })}`
    : change;
}

/** @param {boolean} keep also a rule, that they stay there */
async function carryOut(keep) {
  const { pending, version } = known;
  if (pending === null || version === null) return;
  await working(async () => {
    const made = await post("/api/change", {
      version: version.version,
      moves: pending.moves,
      keep,
    });
    await takeVersion(made);
    if (keep) await reload();
    say(t("change.done"));
  });
}

/** The box under the map that says what a move means. @param {HTMLElement} where */
export function changeBox(where) {
  follow(["pending", "selection", "version", "job", "tool"], () => draw(where));
}

/** @param {HTMLElement} where */
function draw(where) {
  const { pending, selection, version } = known;
  const names = clusterNames();
  if (version === null || known.job !== null || (pending === null && selection.length === 0)) {
    where.hidden = true;
    fill(where);
    return;
  }
  where.hidden = false;
  if (pending === null) {
    const select = h(
      "select",
      {
        "aria-label": t("change.to"),
        id: "move-to",
        onchange: () => void planMove(selection, Number(select.value)),
      },
      h("option", { value: "", selected: true, disabled: true }, t("change.to")),
      names.map((name, i) => h("option", { value: i }, name)),
    );
    fill(
      where,
      h(
        "span",
        { class: "grow cut" },
        selection.length === 1
          ? called(selection[0])
          : t("change.selected", { n: selection.length }),
      ),
      select,
      button({
        icon: "close",
        label: t("change.unselect"),
        class: "quiet",
        press: () => set({ selection: [] }),
      }),
    );
    return;
  }
  const { moves, tried, error } = pending;
  const to = moves[0].cluster;
  const what =
    moves.length === 1 ? called(moves[0].sample) : t("change.selected", { n: moves.length });
  fill(
    where,
    h(
      "div",
      { class: "grow" },
      h(
        "div",
        { class: "row" },
        h("strong", { class: "cut" }, what),
        "→",
        swatch(to, 16),
        h("strong", null, names[to] ?? String(to + 1)),
      ),
      error !== null && h("p", { class: "wrong-text" }, error),
      error === null && tried === null && h("p", { class: "hint" }, t("change.asking")),
      tried &&
        h(
          "p",
          { class: breaks(tried).length ? "wrong-text" : "", id: "move-cost" },
          costWords(tried),
        ),
      tried &&
        breaks(tried).length > 0 &&
        h(
          "ul",
          { class: "conflict" },
          breaks(tried)
            .slice(0, 6)
            .map((one) => h("li", null, ruleWords(one))),
        ),
      tried &&
        tried.mended.length > 0 &&
        h("p", { class: "fine-text" }, icon("check"), t("cost.mended", { n: tried.mended.length })),
    ),
    h(
      "div",
      { class: "row" },
      button({
        text: t("change.do"),
        class: "primary small",
        id: "move-do",
        disabled: tried === null,
        press: () => void carryOut(false),
      }),
      button({
        text: t("change.keep"),
        icon: "pin",
        class: "small",
        id: "move-keep",
        disabled: tried === null,
        press: () => void carryOut(true),
      }),
      button({
        text: t("change.cancel"),
        class: "small quiet",
        id: "move-cancel",
        press: cancelMove,
      }),
    ),
  );
}
