// What the page uses of d3-polygon 3.0.2 (LICENSE beside).
export function polygonHull(points: Array<[number, number]>): Array<[number, number]> | null;
export function polygonContains(polygon: Array<[number, number]>, point: [number, number]): boolean;
export function polygonCentroid(polygon: Array<[number, number]>): [number, number];
