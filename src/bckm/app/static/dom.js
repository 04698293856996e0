/**
 * The one place that makes elements. Text goes in as text, never as HTML, and no style attribute
 * is written: the policy of the page forbids both.
 */

/** @typedef {Node|string|number|null|undefined|false} Child */

const PROPERTIES = new Set([
  "value",
  "checked",
  "disabled",
  "hidden",
  "selected",
  "indeterminate",
  "htmlFor",
  "tabIndex",
  "className",
  "open",
  "multiple",
  "readOnly",
  "spellcheck",
]);

/**
 * Make an element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>|null} [properties] `class`, listeners as `onclick`, `data-`, ...
 * @param {...(Child|Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, properties, ...children) {
  const made = document.createElement(tag);
  add(made, ...children); // options of a select come before its value
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (PROPERTIES.has(name)) /** @type {any} */ (made)[name] = value;
    else if (name === "style" || name === "innerHTML") throw new Error(`no ${name} here`);
    else if (value === true) made.setAttribute(name, name.startsWith("aria-") ? "true" : "");
    else if (value !== false || name.startsWith("aria-")) made.setAttribute(name, String(value));
  }
  return made;
}

/**
 * Append children; null and false are left out.
 * @param {Element|DocumentFragment} to
 * @param {...(Child|Child[])} children
 */
export function add(to, ...children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    to.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Replace what is in an element.
 * @param {Element} where
 * @param {...(Child|Child[])} children
 */
export function fill(where, ...children) {
  where.replaceChildren();
  add(where, ...children);
}

/** @type {Record<string, string>} paths in a box of 24 */
const ICONS = {
  open: "M4 5h5l2 2h9v12H4zM4 10h16",
  rules: "M5 6h2M10 6h9M5 12h2M10 12h9M5 18h2M10 18h9",
  solve: "M4 17l5-6 4 3 7-9M15 5h5v5",
  take: "M12 4v11M7 11l5 5 5-5M5 20h14",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  close: "M6 6l12 12M18 6L6 18",
  hand: "M12 3v18M3 12h18M12 3l-3 3M12 3l3 3M12 21l-3-3M12 21l3-3M3 12l3-3M3 12l3 3M21 12l-3-3M21 12l-3 3",
  move: "M5 19l6-6M5 19v-4M5 19h4M14 5h5v5M19 5l-7 7",
  lasso: "M12 4c5 0 8 2.3 8 5s-3 5-8 5-8-2.3-8-5 3-5 8-5zM8 14c-2 2-1 4 0 6",
  undo: "M9 7L4 11l5 4M4 11h10a5 5 0 0 1 0 9h-3",
  redo: "M15 7l5 4-5 4M20 11H10a5 5 0 0 0 0 9h3",
  pin: "M12 21v-6M8 4h8l-1 6 3 4H6l3-4z",
  check: "M5 13l4 4L19 7",
  warn: "M12 4L2.5 20h19zM12 10v5M12 17.5v.5",
  lock: "M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  moon: "M20 14A8 8 0 1 1 10 4a7 7 0 0 0 10 10z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  table: "M4 5h16v14H4zM4 10h16M4 15h16M10 5v14",
  compare: "M4 5h7v14H4zM13 5h7v14h-7z",
  trash: "M5 7h14M10 4h4M7 7l1 13h8l1-13",
  play: "M7 5l12 7-12 7z",
  stop: "M6 6h12v12H6z",
  link: "M10 14l4-4M8 12l-2 2a3 3 0 0 0 4 4l2-2M16 12l2-2a3 3 0 0 0-4-4l-2 2",
  hull: "M5 9l6-5 8 4 1 8-7 4-8-4z",
  text: "M5 6h14M12 6v13",
  outline: "M4 6l5-2 6 2 5-2v14l-5 2-6-2-5 2zM9 4v14M15 6v14",
};

/**
 * A small drawing; it says nothing to a screen reader, so what it is in must.
 * @param {string} name
 */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", ICONS[name] ?? "");
  svg.append(path);
  return svg;
}

/**
 * An element of the page that must be there.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function at(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`no element ${id}`);
  return found;
}

/** Bring the focus to the heading of the step that is shown. */
export function land() {
  const heading = document.querySelector("#panel:not([hidden]) .step:not([hidden]) h2");
  if (!(heading instanceof HTMLElement)) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/** The same where what had the focus has gone, so that the keyboard goes on from there. */
export function landIfLost() {
  const active = document.activeElement;
  if (active === null || active === document.body || active.getClientRects().length === 0) land();
}

/**
 * A button with a drawing, a word, or both.
 * @param {{text?: string, icon?: string, label?: string, class?: string, press?: () => void,
 *   disabled?: boolean, pressed?: boolean, id?: string, key?: string}} what
 */
export function button(what) {
  return h(
    "button",
    {
      type: "button",
      class: `button ${what.class ?? ""} ${what.text ? "" : "only-icon"}`,
      id: what.id,
      disabled: what.disabled ?? false,
      "aria-label": what.label,
      title:
        what.label === undefined
          ? undefined
          : what.key
            ? `${what.label} (${what.key})`
            : what.label,
      "aria-pressed": what.pressed,
      onclick: what.press,
    },
    what.icon && icon(what.icon),
    what.text && h("span", null, what.text),
  );
}

/** Words in a text that can be pressed. @param {Child} text @param {() => void} press */
export function link(text, press) {
  return h("button", { type: "button", class: "link", onclick: press }, text);
}

/** What stands above the columns of a table; those that are null are left out. @param {Child[]} names */
export function headings(names) {
  const cells = names.filter((name) => name !== null && name !== undefined && name !== false);
  return h(
    "thead",
    null,
    h(
      "tr",
      null,
      cells.map((name) => (name === "" ? h("td", null) : h("th", { scope: "col" }, name))),
    ),
  );
}

/**
 * A table, of which each row begins with its heading.
 * @param {string} style
 * @param {Child[]} names of the columns
 * @param {Child[][]} rows what is in them, or whole cells
 */
export function table(style, names, rows) {
  const cell = (/** @type {Child} */ one) =>
    one instanceof HTMLTableCellElement ? one : h("td", null, one);
  return h(
    "table",
    { class: style },
    headings(names),
    h(
      "tbody",
      null,
      rows.map(([first, ...others]) =>
        h("tr", null, h("th", { scope: "row" }, first), others.map(cell)),
      ),
    ),
  );
}

/**
 * A function that waits for a pause of its calls.
 * @template {any[]} A
 * @param {(...given: A) => void} act
 * @param {number} pause milliseconds
 * @returns {(...given: A) => void}
 */
export function debounced(act, pause) {
  let timer = 0;
  return (...given) => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => act(...given), pause);
  };
}
