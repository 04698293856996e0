/** The page: its frame, its steps, and what happens when files are dropped and keys pressed. */
import { openFile, sendPrevious, takeIn, working } from "./actions.js";
import { get, takeToken } from "./api.js";
import { cancelMove } from "./change.js";
import { compareStage } from "./compare.js";
import { at, button, fill, h, icon, land } from "./dom.js";
import { language, languages, speak, t } from "./i18n.js";
import { isGeoJson } from "./map/geojson.js";
import { openPanel, welcome } from "./open.js";
import { draft, changed, newCard } from "./rules/draft.js";
import { rulesPanel } from "./rules/panel.js";
import { sidePanel } from "./side.js";
import { attend, solvePanel } from "./solve.js";
import { mapStage, takeOutlines } from "./stage.js";
import { follow, known, set } from "./state.js";
import { tableStage } from "./table.js";
import { takePanel } from "./take.js";
import { stepVersion } from "./versions.js";

/** @typedef {import("./state.js").Step} Step */

const STEPS = /** @type {const} */ (["open", "rules", "solve", "take"]);
const THEME = "bckm.theme";

/** @param {string|null} wanted */
function dress(wanted) {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = wanted ?? system;
  set({ theme: wanted ?? system });
}

function head() {
  const theme = button({
    icon: document.documentElement.dataset.theme === "dark" ? "sun" : "moon",
    label: t("theme"),
    class: "quiet",
    id: "theme",
    press: () => {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      localStorage.setItem(THEME, next);
      dress(next);
      head();
    },
  });
  const tongue = h(
    "select",
    {
      id: "language",
      "aria-label": t("language"),
      value: language,
      onchange: () => speak(tongue.value),
    },
    languages.map((one) => h("option", { value: one }, one === "de" ? "Deutsch" : "English")),
  );
  const name = known.server?.table?.name;
  const logo = h("img", { src: "/static/icon.svg", alt: "", width: 24, height: 24 });
  fill(
    at("head"),
    h("span", { class: "brand" }, logo, "bckm"),
    h("span", { class: "file-name cut", title: name ?? "" }, name ?? ""),
    h("span", { class: `spin ${known.busy ? "" : "resting"}`, id: "busy" }),
    h(
      "span",
      { class: "privacy", title: t("private.long") },
      icon("lock"),
      h("span", null, t("private")),
    ),
    tongue,
    theme,
  );
}

/** @param {Step} step */
function reachable(step) {
  if (step === "open") return true;
  if (!known.server?.table) return false;
  return step !== "take" || known.version !== null;
}

function steps() {
  fill(
    at("steps"),
    h(
      "ol",
      null,
      STEPS.map((step, i) =>
        h(
          "li",
          null,
          h(
            "button",
            {
              type: "button",
              "data-step": step,
              "aria-current": step === known.step ? "step" : null,
              disabled: !reachable(step),
              onclick: () => set({ step }),
            },
            icon(step),
            h("span", { class: "step-number" }, i + 1),
            h("span", null, t(`step.${step}`)),
          ),
        ),
      ),
    ),
  );
}

function frame() {
  at("steps").setAttribute("aria-label", t("steps"));
  at("skip").textContent = t("skip");
  at("panel").setAttribute("aria-label", t("panel.label"));
  at("side").setAttribute("aria-label", t("side.label"));
  const panels = Object.fromEntries(
    STEPS.map((step) => [step, h("div", { class: "step", "data-panel": step })]),
  );
  const stages = Object.fromEntries(
    ["welcome", "table", "map", "compare"].map((name) => [
      name,
      h("div", { class: "stage", "data-stage": name }),
    ]),
  );
  fill(at("panel"), Object.values(panels));
  fill(at("stage"), Object.values(stages));
  welcome(stages.welcome);
  openPanel(panels.open);
  rulesPanel(panels.rules);
  solvePanel(panels.solve);
  takePanel(panels.take);
  tableStage(stages.table);
  mapStage(stages.map);
  compareStage(stages.compare);
  sidePanel(at("side"));
  follow(["step", "server", "version", "compared"], () => {
    const empty = !known.server?.table;
    const stage = empty
      ? "welcome"
      : known.step === "open"
        ? "table"
        : known.compared.length === 2 && known.step === "solve"
          ? "compare"
          : "map";
    at("panel").hidden = empty;
    for (const [name, one] of Object.entries(panels)) one.hidden = name !== known.step;
    for (const [name, one] of Object.entries(stages)) one.hidden = name !== stage;
    at("side").hidden = known.version === null || stage !== "map" || known.step === "rules";
    document.body.dataset.shows = empty ? "welcome" : known.step;
  });
  follow(["step", "server", "version"], steps);
  follow(["server", "busy"], head);
  follow(["step"], () => {
    if (known.step !== "rules") set({ picking: null });
    if (known.step !== "solve") cancelMove();
    at("panel").scrollTop = 0;
    land();
  });
}

/** A file may come from anywhere; what it is decides where it goes. @param {File} file */
async function dropped(file) {
  const start = await file.slice(0, 4_000).text();
  if (isGeoJson(file.name, start)) return takeOutlines(file);
  if (
    known.server?.table &&
    (known.step === "rules" || known.step === "solve") &&
    !/\.bckm$/i.test(file.name)
  ) {
    return askWhat(file);
  }
  return openFile(file);
}

/** Another table, or an earlier result? @param {File} file */
function askWhat(file) {
  const dialog = h("dialog", { class: "ask" });
  const act = (/** @type {() => void} */ what) => () => {
    dialog.close();
    dialog.remove();
    what();
  };
  fill(
    dialog,
    h("h2", null, t("ask.title", { name: file.name })),
    button({
      text: t("ask.stay"),
      class: "wide",
      press: act(async () => {
        const answer = await sendPrevious(file);
        if (!answer) return;
        const card = newCard(
          answer.kind === "links" ? "links" : "stay",
          answer.kind === "links" ? { file: answer.id } : { file: answer.id, at_most: 5 },
        );
        draft.cards.push(card);
        const server = known.server;
        if (server) set({ server: { ...server, rules: structuredClone(draft) }, step: "rules" });
        changed();
      }),
    }),
    button({ text: t("ask.open"), class: "wide", press: act(() => void openFile(file)) }),
    button({ text: t("change.cancel"), class: "wide quiet", press: act(() => undefined) }),
  );
  document.body.append(dialog);
  dialog.showModal();
}

function drops() {
  let depth = 0;
  window.addEventListener("dragenter", () =>
    document.body.classList.toggle("dropping", ++depth > 0),
  );
  window.addEventListener("dragleave", () =>
    document.body.classList.toggle("dropping", --depth > 0),
  );
  window.addEventListener("dragover", (event) => event.preventDefault());
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    depth = 0;
    document.body.classList.remove("dropping");
    const file = event.dataTransfer?.files[0];
    if (file) void dropped(file);
  });
}

function keys() {
  window.addEventListener("keydown", (event) => {
    const within =
      event.target instanceof HTMLElement &&
      event.target.closest("input, select, textarea, dialog");
    if (within && event.key !== "Escape") return;
    const control = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (control && key === "z" && known.step === "solve") void stepVersion(event.shiftKey ? 1 : -1);
    else if (control && key === "y" && known.step === "solve") void stepVersion(1);
    else if (control || event.altKey) return;
    else if (/^[1-4]$/.test(key) && reachable(STEPS[Number(key) - 1]))
      set({ step: STEPS[Number(key) - 1] });
    else if (key === "v") set({ tool: "pan" });
    else if (key === "m" && known.version) set({ tool: "move" });
    else if (key === "l") set({ tool: "lasso" });
    else if (event.key === "Enter" && known.picking && !(event.target instanceof HTMLButtonElement))
      set({ picking: null });
    else if (event.key === "Escape") {
      cancelMove();
      set({ picking: null, selection: [], compared: [], focusCluster: -1 });
      return;
    } else return;
    event.preventDefault();
  });
}

/** Another tab may have changed what the server has: look when this one is seen again. */
function returns() {
  document.addEventListener("visibilitychange", async () => {
    if (document.visibilityState !== "visible" || known.job || known.busy || known.checking) return;
    const parts = (/** @type {import("./types.js").State|null} */ one) =>
      JSON.stringify([one?.table?.name, one?.table?.reading, one?.setup, one?.rules]);
    try {
      await takeIn(async () => {
        const state = await get("/api/state");
        const newest = known.versions.at(-1)?.version ?? 0;
        const other = parts(state) !== parts(known.server) || (state.shown ?? 0) > newest;
        return other ? state : null;
      });
    } catch {
      // asked for nothing: the next act says what is wrong
    }
  });
}

async function begin() {
  document.documentElement.lang = language;
  dress(localStorage.getItem(THEME));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    dress(localStorage.getItem(THEME));
    head();
  });
  const token = takeToken();
  frame();
  drops();
  keys();
  returns();
  if (!token) {
    fill(
      at("stage"),
      h(
        "div",
        { class: "welcome" },
        h("h1", null, t("token.title")),
        h("p", { class: "lead" }, t("token.lead")),
      ),
    );
    return;
  }
  await working(async () => {
    const state = await takeIn(() => get("/api/state"), true);
    if (state?.job) await attend(state.job.job);
  });
}

void begin();
