/** Step 3, left: start, follow and stop a fit. */
import { loadVersions, reload, working } from "./actions.js";
import { ApiError, events, inTurn, post } from "./api.js";
import { button, fill, h, icon } from "./dom.js";
import { duration, t, tOr } from "./i18n.js";
import { complain, say, show, words } from "./notify.js";
import { drawProgress } from "./progress.js";
import { drawResult } from "./result.js";
import { follow, known, set } from "./state.js";
import { parsed } from "./rules/amounts.js";
import { check } from "./rules/draft.js";
import { versionsPanel } from "./versions.js";

const TIMES = [5, 20, 60, 300, 0]; // seconds; 0: until stopped
const SEARCHES = ["auto", "local", "global"];
/** @type {{time: number, search: string, few: boolean, atMost: number|null}} */
const wish = { time: 20, search: "auto", few: false, atMost: 5 };

/** @param {HTMLElement} where */
export function solvePanel(where) {
  const form = h("div", null);
  const progress = h("div", null);
  const result = h("div", null);
  const versions = h("div", null);
  fill(where, h("h2", null, t("solve.title")), form, progress, result, versions);
  follow(["job", "version", "verdict", "checking", "points"], () => drawForm(form));
  follow(["job"], () => drawProgress(progress, wish.time));
  follow(["version", "job"], () => drawResult(result));
  form.addEventListener("focusout", () => window.setTimeout(() => drawForm(form)));
  versionsPanel(versions);
  window.setInterval(() => known.job && drawProgress(progress, wish.time), 500);
}

/** @param {HTMLElement} where */
function drawForm(where) {
  if (where.contains(document.activeElement) && document.activeElement instanceof HTMLInputElement)
    return;
  const running = known.job !== null;
  const ready = known.points !== null && (known.server?.rules.clusters.count ?? 0) > 0;
  const verdict = known.verdict?.verdict;
  const impossible = verdict === "infeasible" || verdict === "incomplete";
  // news of a fit come several times a second: its button must stay the same one
  const now = JSON.stringify([
    running,
    known.job?.stopping,
    known.version?.version,
    ready,
    known.points === null,
    impossible && verdict,
    known.checking,
  ]);
  if (where.dataset.shows === now) return;
  where.dataset.shows = now;
  const focused = where.contains(document.activeElement);
  const time = h(
    "select",
    {
      id: "solve-time",
      disabled: running,
      value: wish.time,
      onchange: () => (wish.time = Number(time.value)),
    },
    TIMES.map((one) =>
      h(
        "option",
        { value: one },
        one ? t("time.at_most", { time: duration(one) }) : t("time.free"),
      ),
    ),
  );
  const search = h(
    "select",
    {
      id: "solve-search",
      disabled: running,
      value: wish.search,
      onchange: () => (wish.search = search.value),
    },
    SEARCHES.map((one) => h("option", { value: one }, tOr(`search.${one}`, one))),
  );
  const few = h("input", {
    type: "checkbox",
    id: "solve-few",
    checked: wish.few,
    disabled: running,
    onchange: () => (wish.few = few.checked),
  });
  const most = h("input", {
    type: "text",
    inputmode: "numeric",
    class: "amount",
    id: "solve-most",
    value: wish.atMost ?? "",
    disabled: running,
    "aria-label": t("few.label"),
    oninput: () => {
      const value = parsed(most.value, { whole: true });
      wish.atMost = typeof value === "number" && value >= 0 ? value : null;
      most.setAttribute("aria-invalid", String(wish.atMost === null));
      few.checked = wish.few = true;
    },
  });
  fill(
    where,
    h(
      "div",
      { class: "pair" },
      h("label", { class: "field", for: "solve-time" }, h("span", null, t("solve.time")), time),
      h(
        "label",
        { class: "field", for: "solve-search" },
        h("span", null, t("solve.search")),
        search,
      ),
    ),
    known.version !== null &&
      h(
        "div",
        { class: "few" },
        h(
          "label",
          { class: "check", for: "solve-few" },
          few,
          t("few.words", { version: known.version.version }),
        ),
        most,
        h("span", null, t("few.after")),
      ),
    impossible &&
      h(
        "div",
        { class: "note wrong" },
        icon("warn"),
        h("p", null, t(verdict === "incomplete" ? "solve.incomplete" : "solve.impossible")),
        button({ text: t("solve.back"), class: "small", press: () => set({ step: "rules" }) }),
      ),
    !ready &&
      h("p", { class: "note" }, t(known.points === null ? "solve.nopoints" : "solve.norules")),
    running
      ? button({
          text: t(known.job?.stopping ? "solve.stopping" : "solve.stop"),
          icon: "stop",
          class: "primary wide",
          id: "stop",
          press: () => void stop(),
        })
      : button({
          text: t(known.version ? "solve.again" : "solve.go"),
          icon: "play",
          class: "primary wide",
          id: "solve",
          disabled: !ready || impossible || known.checking,
          press: () => void solve(),
        }),
  );
  if (focused) /** @type {HTMLElement|null} */ (where.querySelector("#stop, #solve"))?.focus();
}

/** Start a fit with what the form says. */
export async function solve() {
  if (known.job !== null) return;
  const version = known.version?.version;
  if (wish.few && version !== undefined && wish.atMost === null) {
    show(t("few.unclear"), "wrong");
    document.getElementById("solve-most")?.focus();
    return;
  }
  await working(async () => {
    const asked = {
      time_limit: wish.time || null,
      search: wish.search,
      seed: 0,
      few_changes: wish.few && version !== undefined ? { version, at_most: wish.atMost } : null,
    };
    const { job } = await inTurn(() => post("/api/solve", asked));
    set({ pending: null, selection: [], compared: [] });
    await attend(job);
  });
}

/** Follow a fit until it ends. @param {number} job */
export async function attend(job) {
  set({
    job: {
      job,
      progress: null,
      phase: "",
      objectives: [],
      began: performance.now(),
      stopping: false,
    },
  });
  let ended = false;
  /** @type {any} */
  let failed = null;
  /** @type {number|null} */
  let version = null;
  try {
    await events(`/api/progress?job=${job}`, (event, data) => {
      const now = known.job;
      if (now === null) return;
      if (event === "step") {
        const objectives = now.objectives;
        const value = data.best ?? data.objective;
        if (value !== null && value !== undefined) objectives.push(value);
        if (objectives.length > 400) objectives.splice(1, 1);
        set({ job: { ...now, progress: data, phase: data.phase ?? now.phase } });
      } else if (event === "labels") set({ labels: Int32Array.from(data.labels) });
      else if (event === "done") {
        ended = true;
        version = data.version;
      } else if (event === "failed") {
        ended = true;
        failed = data.error ?? data;
      }
    });
  } finally {
    set({ job: null, labels: known.version?.labels ?? null });
  }
  if (version !== null) {
    await loadVersions(version);
    say(t("solve.done"));
  } else if (failed) {
    const error = new ApiError(failed.kind ?? "internal", failed.message ?? "", failed);
    complain(error);
    if (error.kind === "infeasible") {
      await reload();
      void check();
    }
  } else if (!ended) {
    await reload();
    await loadVersions(known.server?.shown ?? null);
  }
}

async function stop() {
  if (known.job === null || known.job.stopping) return;
  set({ job: { ...known.job, stopping: true } });
  try {
    await post("/api/stop");
  } catch (error) {
    say(words(error) ?? "");
  }
}
