/** The first rows of the table as they were read, with what is wrong marked. */
import { add, fill, h } from "./dom.js";
import { t, tOr } from "./i18n.js";
import { noteWords } from "./rules/words.js";
import { known, follow } from "./state.js";

/** @typedef {import("./types.js").Problem} Problem */

/** @param {HTMLElement} where */
export function tableStage(where) {
  follow(["server"], () => draw(where));
}

/** @param {HTMLElement} where */
function draw(where) {
  const table = known.server?.table;
  if (!table) {
    fill(where);
    return;
  }
  /** @type {Map<string, string>} "row column" -> what is wrong */
  const wrong = new Map();
  for (const problem of table.problems) {
    for (const row of problem.rows) {
      wrong.set(`${row} ${problem.column ?? ""}`, noteWords(problem.message));
    }
  }
  const setup = known.server?.setup;
  const fills = /** @type {object} */ (table.reading.fills ?? {});
  const uses = new Map([
    ...(setup?.position.columns ?? []).map(
      (name) => /** @type {const} */ ([name, t("use.position")]),
    ),
    .../** @type {[string|null|undefined, string][]} */ ([
      [setup?.id, t("use.id")],
      [setup?.name, t("use.name")],
      [setup?.weight, t("use.weight")],
    ]).filter(([name]) => name),
  ]);
  const head = h(
    "tr",
    null,
    h("th", { class: "line", scope: "col" }, t("table.line")),
    table.columns.map((column) =>
      h(
        "th",
        { scope: "col", "data-column": column.name },
        h("span", { class: "column-name", title: column.name }, column.name),
        h(
          "span",
          { class: "column-type" },
          tOr(`type.${column.type}`, column.type),
          column.missing > 0 && lacking(column, column.name in fills),
          uses.has(column.name) && h("b", { class: "use" }, uses.get(column.name)),
        ),
      ),
    ),
  );
  const body = h("tbody", null);
  table.preview.rows.forEach((row, i) => {
    const whole = wrong.get(`${i} `);
    const line = h(
      "tr",
      { class: whole ? "bad-row" : null, title: whole, "data-row": i },
      h("th", { class: "line", scope: "row" }, table.preview.lines[i] ?? i + 1),
    );
    row.forEach((cell, j) => {
      const column = table.columns[j];
      const said = wrong.get(`${i} ${column?.name}`);
      add(
        line,
        h(
          "td",
          {
            class: `${column?.type === "number" ? "number" : ""} ${said ? "bad" : ""}`,
            title: said,
            "data-cell": `${i} ${j}`,
          },
          cell === null || cell === ""
            ? h("span", { class: "void" }, said ? t("table.empty") : "")
            : cell,
        ),
      );
    });
    body.append(line);
  });
  const more = table.n_rows - table.preview.rows.length;
  fill(
    where,
    h(
      "div",
      {
        class: "table-box",
        tabIndex: 0,
        role: "region",
        "aria-label": t("table.label", { name: table.name }),
      },
      h("table", { class: "data" }, h("thead", null, head), body),
      more > 0 && h("p", { class: "hint pad" }, t("table.more", { n: more })),
    ),
  );
}

/** How many cells are empty, or were. @param {import("./types.js").Column} column @param {boolean} filled */
function lacking({ type, missing }, filled) {
  const hurts = type === "number" && !filled;
  return h(
    "b",
    { class: `lacking ${hurts ? "hurts" : ""}` },
    t(filled ? "table.filled" : "table.missing", { n: missing }),
  );
}

/** Bring what a problem is about into sight. @param {Problem} problem */
export function showProblem(problem) {
  const table = known.server?.table;
  if (!table) return;
  const row = problem.rows.find((one) => one < table.preview.rows.length);
  const j = table.columns.findIndex((column) => column.name === problem.column);
  const place =
    row === undefined
      ? document.querySelector(`th[data-column="${CSS.escape(problem.column ?? "")}"]`)
      : document.querySelector(j < 0 ? `tr[data-row="${row}"]` : `td[data-cell="${row} ${j}"]`);
  if (!(place instanceof HTMLElement)) return;
  place.scrollIntoView({ block: "center", inline: "center" });
  place.classList.remove("flash");
  void place.offsetWidth; // begins again
  place.classList.add("flash");
}
