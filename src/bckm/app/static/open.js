/** Step 1: a file is dropped, and its problems are mended. */
import { openDemo, openFile, readAgain, readings, takeBack } from "./actions.js";
import { button, fill, h, icon } from "./dom.js";
import { t, tOr } from "./i18n.js";
import { isGeoJson } from "./map/geojson.js";
import { headline, noteWords } from "./rules/words.js";
import { drawSetup } from "./setup.js";
import { takeOutlines } from "./stage.js";
import { follow, known } from "./state.js";
import { showProblem } from "./table.js";

/**
 * @typedef {import("./types.js").Table} Table
 * @typedef {import("./types.js").Problem} Problem
 */

/** A button that opens the file dialog. @param {string} text @param {string} style */
export function fileButton(text, style) {
  const input = h("input", {
    type: "file",
    class: "unseen",
    tabIndex: -1,
    "aria-hidden": true,
    "data-open": "table",
    accept: ".csv,.tsv,.txt,.xlsx,.xls,.ods,.parquet,.jsonl,.bckm",
    onchange: () => {
      const file = input.files?.[0];
      input.value = "";
      if (file) void chosen(file);
    },
  });
  return h(
    "span",
    null,
    button({ text, icon: "open", class: style, press: () => input.click() }),
    input,
  );
}

/** A table, or by mistake the outlines of a map. @param {File} file */
async function chosen(file) {
  const start = await file.slice(0, 4_000).text();
  await (isGeoJson(file.name, start) ? takeOutlines(file) : openFile(file));
}

/** The page before anything is open. @param {HTMLElement} where */
export function welcome(where) {
  fill(
    where,
    h(
      "div",
      { class: "welcome" },
      h("h1", null, t("welcome.title")),
      h("p", { class: "lead" }, t("welcome.lead")),
      h(
        "div",
        { class: "drop" },
        icon("table"),
        h("p", null, h("strong", null, t("welcome.drop"))),
        h("p", { class: "hint" }, t("welcome.kinds")),
        fileButton(t("welcome.choose"), "primary"),
      ),
      h(
        "div",
        { class: "demos" },
        h("p", null, t("welcome.demo")),
        demo("vans", t("demo.vans"), t("demo.vans.hint")),
        demo("classes", t("demo.classes"), t("demo.classes.hint")),
      ),
      h("p", { class: "private" }, icon("lock"), t("private.long")),
    ),
  );
}

/** @param {"vans"|"classes"} name @param {string} title @param {string} hint */
function demo(name, title, hint) {
  return h(
    "button",
    { type: "button", class: "demo", "data-demo": name, onclick: () => void openDemo(name) },
    h("strong", null, title),
    h("span", { class: "hint" }, hint),
  );
}

/** @param {HTMLElement} where */
export function openPanel(where) {
  const file = h("div", null);
  const problems = h("div", { "aria-live": "polite" });
  const setup = h("div", null);
  fill(where, h("h2", null, t("open.title")), file, problems, setup);
  follow(["server"], () => {
    const table = known.server?.table;
    if (!table) return;
    drawFile(file, table);
    drawProblems(problems, table);
    drawSetup(setup, table);
  });
}

/** @param {HTMLElement} where @param {Table} table */
function drawFile(where, table) {
  fill(
    where,
    h(
      "div",
      { class: "file" },
      icon("table"),
      h(
        "div",
        { class: "grow" },
        h("strong", { class: "cut", title: table.name }, table.name),
        h(
          "span",
          { class: "hint" },
          t("open.size", { rows: table.n_rows, columns: table.columns.length }),
        ),
      ),
      fileButton(t("open.other"), "small"),
    ),
    table.assumed.length > 0 &&
      h(
        "ul",
        { class: "assumed", "aria-label": t("open.assumed") },
        table.assumed.map((note) => h("li", null, noteWords(note))),
      ),
    readings.length > 0 &&
      button({
        text: t("open.back"),
        icon: "undo",
        class: "small quiet",
        id: "take-back",
        press: () => void takeBack(),
      }),
  );
}

/** @param {HTMLElement} where @param {Table} table */
function drawProblems(where, table) {
  if (table.problems.length === 0) {
    fill(where, h("p", { class: "note fine" }, icon("check"), t("open.clean")));
    return;
  }
  fill(
    where,
    h("h3", null, t("open.problems", { n: table.problems.length })),
    h("ul", { class: "problems" }, table.problems.map(problemCard)),
  );
}

/** @param {Problem} problem */
function problemCard(problem) {
  return h(
    "li",
    { class: "problem", "data-kind": problem.kind },
    h(
      "button",
      {
        type: "button",
        class: "problem-text",
        title: t("open.show"),
        onclick: () => showProblem(problem),
      },
      icon("warn"),
      h(
        "span",
        null,
        h("strong", null, headline(problem)),
        h("span", { class: "hint" }, noteWords(problem.message)),
      ),
    ),
    problem.remedies.length > 0 &&
      h(
        "div",
        { class: "remedies" },
        problem.remedies.map((remedy) =>
          h(
            "button",
            {
              type: "button",
              class: "button small",
              "data-remedy": remedy.key,
              onclick: () => void readAgain(remedy.change),
            },
            remedyText(remedy),
          ),
        ),
      ),
  );
}

/** A remedy in the person's language, if it is known here. @param {import("./types.js").Remedy} remedy */
function remedyText({ key, text, change }) {
  const lines = Array.isArray(change.drop_rows) ? change.drop_rows : [];
  const shown = lines.length > 3 ? `${lines.slice(0, 3).join(", ")} …` : lines.join(", ");
  const values = {
    line: String(change.header_row ?? ""),
    n: lines.length,
    lines: shown,
  };
  const name = change.decimal === "." ? "point" : key;
  return tOr(`remedy.${name}`, text, values);
}
