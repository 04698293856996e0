// What the page uses of d3-quadtree 3.0.2 (LICENSE beside).
export interface Leaf<T> { data: T; next?: Leaf<T>; length?: undefined; }
export type Node<T> = Leaf<T> | Array<Node<T> | undefined>;
export interface Quadtree<T> {
  addAll(data: ArrayLike<T> | T[]): Quadtree<T>;
  find(x: number, y: number, radius?: number): T | undefined;
  visit(callback: (node: Node<T>, x0: number, y0: number, x1: number, y1: number) => boolean | void): Quadtree<T>;
}
export function quadtree<T>(data: T[], x: (datum: T) => number, y: (datum: T) => number): Quadtree<T>;
