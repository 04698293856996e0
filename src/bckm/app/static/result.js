/** Step 3, after a fit: what was found, in a few numbers. */
import { fill, h, icon, link } from "./dom.js";
import { duration, number, t } from "./i18n.js";
import { gapWords } from "./progress.js";
import { ruleWords } from "./rules/words.js";
import { known, set } from "./state.js";

/** How far samples are from the middle of their cluster, in the units of the axes; null where that means nothing. */
function meanDistance() {
  const { points, version } = known;
  if (!points || !version || points.kind === "components") return null;
  const k = version.clusters.length;
  const [sx, sy, count] = [new Float64Array(k), new Float64Array(k), new Float64Array(k)];
  version.labels.forEach((label, i) => {
    sx[label] += points.x[i];
    sy[label] += points.y[i];
    count[label]++;
  });
  let sum = 0;
  const places = points.kind === "latlon";
  version.labels.forEach((label, i) => {
    const y = sy[label] / count[label];
    const squeeze = places ? Math.cos((y * Math.PI) / 180) : 1;
    sum += Math.hypot((points.x[i] - sx[label] / count[label]) * squeeze, points.y[i] - y);
  });
  const mean = (sum / points.n) * (places ? 111.195 : 1);
  const unit = places
    ? "km"
    : (/(?:^|[_ (])(km|m|mi|ft)\)?$/i.exec(points.axes[0] ?? "")?.[1] ?? "");
  return `${number(mean, 3)}${unit ? ` ${unit}` : ""}`;
}

/** @param {HTMLElement} where */
export function drawResult(where) {
  const { version, job } = known;
  if (version === null || job !== null) {
    fill(where);
    return;
  }
  const mean = meanDistance();
  const broken = version.broken.length;
  const byHand = version.made === "change"; // nothing was searched for
  fill(
    where,
    h(
      "div",
      { class: "result", id: "result" },
      h(
        "p",
        { class: broken ? "note wrong" : "note fine" },
        icon(broken ? "warn" : "check"),
        h(
          "span",
          null,
          broken ? t("result.broken", { n: broken }) : t("result.kept"),
          version.given_up.length > 0
            ? ` ${t("result.given_up", { n: version.given_up.length })}`
            : "",
        ),
      ),
      broken > 0 &&
        h(
          "ul",
          { class: "conflict" },
          version.broken.slice(0, 20).map((one) =>
            h(
              "li",
              null,
              link(ruleWords(one), () => set({ marked: { cards: [], samples: one.samples } })),
            ),
          ),
        ),
      h(
        "dl",
        { class: "facts" },
        mean !== null &&
          version.mixed === null && [h("dt", null, t("result.mean")), h("dd", null, mean)],
        h("dt", null, t("result.objective")),
        h("dd", null, number(version.objective, 6)),
        version.mixed === null &&
          !byHand && [h("dt", null, t("solve.gap")), h("dd", null, gapWords(version.gap))],
        !byHand && [h("dt", null, t("result.seconds")), h("dd", null, duration(version.seconds))],
      ),
    ),
  );
}
