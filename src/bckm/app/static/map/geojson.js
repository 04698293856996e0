/** Outlines that a person drops in, from GeoJSON: lines in the coordinates of the data. */

const MOST = 2_000_000; // coordinates

/** @typedef {[number, number][]} Line */

/**
 * Lines of any GeoJSON, or an error that says what is wrong.
 * @param {string} text
 * @returns {Line[]}
 */
export function readOutlines(text) {
  const tree = JSON.parse(text);
  /** @type {Line[]} */
  const lines = [];
  let count = 0;
  /** @param {any} line */
  const line = (line) => {
    const found = /** @type {Line} */ ([]);
    for (const place of Array.isArray(line) ? line : []) {
      const [x, y] = Array.isArray(place) ? place : [];
      if (Number.isFinite(x) && Number.isFinite(y)) found.push([x, y]);
      if (++count > MOST) throw new RangeError("too large");
    }
    if (found.length > 1) lines.push(found);
  };
  /** @type {Record<string, (coordinates: any[]) => void>} */
  const shapes = {
    LineString: line,
    MultiLineString: (all) => all.forEach(line),
    Polygon: (all) => all.forEach(line),
    MultiPolygon: (all) => all.forEach((/** @type {any[]} */ one) => one.forEach(line)),
  };
  const queue = [tree];
  while (queue.length) {
    const one = queue.pop();
    if (one === null || typeof one !== "object") continue;
    for (const parts of [one.features, one.geometries]) {
      if (Array.isArray(parts)) for (const part of parts) queue.push(part);
    }
    if (one.geometry) queue.push(one.geometry);
    const read = shapes[one.type];
    if (read && Array.isArray(one.coordinates)) read(one.coordinates);
  }
  return lines;
}

/** Does a text look like GeoJSON? @param {string} name @param {string} start */
export function isGeoJson(name, start) {
  if (/\.geojson$/i.test(name)) return true;
  return (
    /\.json$/i.test(name) &&
    /"(FeatureCollection|Feature|GeometryCollection|MultiPolygon)"/.test(start)
  );
}
