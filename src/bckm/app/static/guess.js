/** What columns probably mean, by their names and what is in them. */

/**
 * @typedef {import("./types.js").Table} Table
 * @typedef {import("./types.js").Setup} Setup
 * @typedef {import("./types.js").Position} Position
 */

const LAT = /^(lat|latitude|breite|breitengrad|geo_?lat|y_?lat)/i;
const LON = /^(lon|lng|long|longitude|l[aä]nge|l[aä]ngengrad|geo_?lon|x_?lon)/i;
const X = /^(x|pos_?x|x[_ (]?(km|m|pos|coord).*|east|easting|rechtswert|ost)\)?$/i;
const Y = /^(y|pos_?y|y[_ (]?(km|m|pos|coord).*|north|northing|hochwert|nord)\)?$/i;
const ID =
  /^(id|.*[_ ]?(id|nr|no|number|nummer|key|code)|stop|customer|kunde|pupil|sch[uü]ler|stopp|halt)$/i;
const NAME = /^(.*name.*|title|label|bezeichnung|titel)$/i;
const OLD = /^(cluster|group|gruppe|klasse|class|van|tour|route|team)$/i;
const AMOUNT = new Set(["not a number", "unit", "decimal", "missing"]);
const PEOPLE =
  /(pupil|student|sch[uü]ler|gender|sex|geschlecht|grade|note|score|age|alter|class|klasse|friend|freund|teacher|school|grundschule|ability|level|niveau|participant|teilnehmer|patient)/i;

/**
 * @param {Table} table
 * @param {Position["kind"]} [kind]
 * @returns {Setup}
 */
export function guess(table, kind) {
  const { columns, n_rows } = table;
  const find = (/** @type {RegExp} */ like) =>
    columns.find((one) => one.type === "number" && like.test(one.name.trim()))?.name;
  const [lat, lon, x, y] = [find(LAT), find(LON), find(X), find(Y)];
  const unique = columns.filter(
    (one) => one.distinct === n_rows && one.missing === 0 && one.type !== "date",
  );
  // ids of which some are missing or repeated are told as a problem; amounts that some cell keeps
  // from being numbers are none
  const amounts = new Set(
    table.problems.filter((one) => AMOUNT.has(one.kind)).map((one) => one.column),
  );
  const nearly = columns.filter(
    (one) => one.distinct > 0.9 * (n_rows - one.missing) && one.missing < 0.1 * n_rows,
  );
  const id =
    unique.find((one) => ID.test(one.name.trim())) ??
    nearly.find((one) => one.type === "text" && ID.test(one.name.trim())) ??
    unique.find((one) => one.type === "text" && !amounts.has(one.name));
  const name = columns.find(
    (one) => one.type === "text" && NAME.test(one.name.trim()) && one.name !== id?.name,
  );
  const word = columns.find(
    (one) =>
      one.type === "text" &&
      one.distinct > n_rows / 2 &&
      one.missing < n_rows / 10 &&
      one.name !== id?.name,
  );
  const chosen = kind ?? (lat && lon ? "latlon" : x && y ? "plane" : "features");
  /** @type {string[]} */
  let features = [];
  if (chosen === "latlon") features = lat && lon ? [lat, lon] : [];
  else if (chosen === "plane") features = x && y ? [x, y] : [];
  else {
    const others = [lat, lon, id?.name];
    features = columns
      .filter(
        (one) =>
          one.type === "number" &&
          !others.includes(one.name) &&
          !OLD.test(one.name.trim()) &&
          !ID.test(one.name.trim()),
      )
      .map((one) => one.name);
  }
  return {
    id: id?.name ?? null,
    name: (name ?? word)?.name ?? null,
    position: {
      kind: chosen,
      columns: features,
      scale: chosen === "features" ? "standard" : "none",
      missing: "error",
    },
    weight: null,
    goal: "compact",
  };
}

/** Does a table look like people who should be divided into groups that are alike? @param {Table} table */
export function looksLikePeople(table) {
  const names = table.columns.map((one) => one.name);
  const places =
    names.some((name) => LAT.test(name)) ||
    (names.some((name) => X.test(name)) && names.some((name) => Y.test(name)));
  return !places && names.filter((name) => PEOPLE.test(name)).length >= 1;
}

/** The setup that was guessed, and of which table; whether a person has changed it since it was sent. */
export const guessed = { table: "", words: "", unsent: false };

/** Another file was opened: nothing is guessed yet. */
export function forgetGuess() {
  Object.assign(guessed, { table: "", words: "", unsent: false });
}
