/** Step 3, while a fit runs: how long, how good, what is proved. */
import { fill, h } from "./dom.js";
import { duration, number, percent, t, tOr } from "./i18n.js";
import { known } from "./state.js";

/** How far from the best, in words. @param {number|null|undefined} gap */
export function gapWords(gap) {
  if (gap === null || gap === undefined || !Number.isFinite(gap)) return t("gap.unknown");
  if (gap < 0.0005) return t("gap.none");
  return t("gap.some", { percent: percent(gap) });
}

/** @param {HTMLElement} where @param {number} most seconds, 0 if there is no limit */
export function drawProgress(where, most) {
  const { job } = known;
  if (job === null) {
    fill(where);
    return;
  }
  const seconds = job.progress?.seconds ?? (performance.now() - job.began) / 1000;
  const passed = Math.max(seconds, (performance.now() - job.began) / 1000);
  const bar = h(
    "progress",
    most
      ? { max: most, value: Math.min(passed, most), "aria-label": t("solve.time") }
      : { "aria-label": t("solve.time") },
  );
  fill(
    where,
    h(
      "div",
      { class: "progress", id: "progress" },
      h(
        "div",
        { class: "row between" },
        h("strong", null, tOr(`phase.${job.phase}`, t("phase.search"))),
        h("span", null, duration(passed)),
      ),
      bar,
      spark(job.objectives),
      h(
        "dl",
        { class: "facts" },
        h("dt", null, t("solve.best")),
        h(
          "dd",
          null,
          job.progress && (job.progress.best ?? job.progress.objective) !== null
            ? number(job.progress.best ?? job.progress.objective, 5)
            : "–",
        ),
        h("dt", null, t("solve.gap")),
        h("dd", null, gapWords(job.progress?.gap)),
      ),
      h("p", { class: "hint" }, t("solve.follows")),
    ),
  );
}

/** A line of how the objective fell. @param {number[]} values */
function spark(values) {
  const canvas = h("canvas", { class: "spark", "aria-hidden": true });
  if (values.length < 2) return canvas;
  const [wide, high, ratio] = [320, 40, window.devicePixelRatio || 1];
  canvas.width = wide * ratio;
  canvas.height = high * ratio;
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  context.scale(ratio, ratio);
  const low = Math.min(...values);
  const top = Math.max(...values.slice(-200));
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
  context.lineWidth = 1.5;
  context.beginPath();
  values.forEach((value, i) => {
    const x = (i / (values.length - 1)) * (wide - 4) + 2;
    const y =
      top > low ? 3 + (high - 6) * (1 - (Math.min(value, top) - low) / (top - low)) : high - 3;
    context.lineTo(x, y);
  });
  context.stroke();
  return canvas;
}
