/** Messages: said politely to screen readers, or shown until they are read. */
import { ApiError } from "./api.js";
import { at, button, fill, h, icon } from "./dom.js";
import { t, tOr } from "./i18n.js";
import { noteWords, problemWords } from "./rules/words.js";

let timer = 0;

/** Say something that need not be seen. @param {string} text */
export function say(text) {
  at("said").textContent = text;
}

/**
 * Show what happened for some seconds, or an error until it is closed.
 * @param {string} text
 * @param {"fine"|"wrong"} [kind]
 */
export function show(text, kind = "fine") {
  window.clearTimeout(timer);
  const close = button({
    icon: "close",
    label: t("close"),
    class: "quiet",
    press: () => fill(at("alerts")),
  });
  fill(
    at("alerts"),
    h(
      "div",
      { class: `toast ${kind}` },
      icon(kind === "fine" ? "check" : "warn"),
      h("p", null, text),
      close,
    ),
  );
  if (kind === "fine") timer = window.setTimeout(() => fill(at("alerts")), 5_000);
}

/** An error that was shown is of the past: something else is tried now. */
export function hush() {
  if (document.querySelector("#alerts .toast.wrong")) fill(at("alerts"));
}

/** What an error says to a person. @param {unknown} error @returns {string|null} */
export function words(error) {
  if (error instanceof DOMException && error.name === "AbortError") return null;
  if (!(error instanceof ApiError)) {
    console.error(error);
    return t("error.page");
  }
  const said = error.more.words;
  /** @type {string[]} */
  const problems = (error.more.problems ?? []).map(problemWords);
  if (problems.length === 1) return problems[0];
  if (said) return [noteWords(said), ...problems.map((one) => `• ${one}`)].join("\n");
  if (error.kind === "internal") return t("error.internal", { id: error.more.id ?? error.message });
  return tOr(`error.${error.kind}`, error.message);
}

/** @param {unknown} error */
export function complain(error) {
  const text = words(error);
  if (text !== null) show(text, "wrong");
}
