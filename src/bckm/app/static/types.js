/**
 * What the server says and hears, as types; nothing of this exists when the page runs.
 *
 * @typedef {{name: string, type: "number"|"text"|"date"|"yes/no"|"empty", missing: number,
 *   distinct: number, sample: string[]}} Column
 * @typedef {{key: string, text: string, change: Record<string, unknown>}} Remedy
 * @typedef {{kind: string, column: string|null, rows: number[], message: Note,
 *   remedies: Remedy[]}} Problem
 * @typedef {Record<string, unknown>} Reading
 * @typedef {{text: string, key?: string, values?: Record<string, NoteValue>}} Note
 * @typedef {string|number|Note} NoteValue
 * @typedef {{name: string, n_rows: number, columns: Column[],
 *   preview: {rows: (string|null)[][], lines: number[]}, assumed: Note[], problems: Problem[],
 *   reading: Reading}} Table
 * @typedef {{kind: "plane"|"latlon"|"features", columns: string[],
 *   scale: "none"|"standard"|"robust", missing: "error"|"mean"|"median"}} Position
 * @typedef {{id: string|null, name: string|null, position: Position, weight: string|null,
 *   goal: "compact"|"mixed"}} Setup
 * @typedef {"size"|"capacity"|"together"|"apart"|"known"|"quota"|"fixed"|"forbidden"|"stay"|
 *   "links"} Kind
 * @typedef {"must"|"strong"|"nice"|"slight"|number} Strength
 * @typedef {{id: string, kind: Kind, keys: Record<string, any>, strength: Strength,
 *   on: boolean}} Card
 * @typedef {{count: number|null, names: string[]}} Clusters
 * @typedef {{cards: Card[], clusters: Clusters}} Rules
 * @typedef {{text: string, card: string|null, samples: number[], key?: string,
 *   values?: Record<string, string|number>}} Broken
 * @typedef {{verdict: "feasible"|"infeasible"|"unknown"|"incomplete", message: string, words?: Note,
 *   conflict: Broken[], remedies: {text: string, key?: string,
 *   values?: Record<string, string|number>, cards: Card[]}[], notes: Note[],
 *   seconds: number}} Verdict
 * @typedef {{revision: number, app: {version: string, limits: Record<string, number>},
 *   table: Table|null, setup: Setup|null, rules: Rules, verdict: Verdict|null,
 *   job: {job: number}|null, shown: number|null,
 *   files?: {id: string, name: string, kind: string}[]}} State
 * @typedef {{n: number, x: number[], y: number[], axes: string[],
 *   kind: "plane"|"latlon"|"components", ids: string[], names: string[]|null,
 *   weight: number[]|null}} Points
 * @typedef {{column: string, value: number, min: number|null, max: number|null}} Load
 * @typedef {{column: string, category: string, count: number, share: number, min: number|null,
 *   max: number|null}} QuotaBar
 * @typedef {{name: string, size: number, size_min: number|null, size_max: number|null,
 *   loads: Load[], quotas: QuotaBar[], cost: number, members: number[]}} Cluster
 * @typedef {{name: string, means: number[], overall: number, deviation: number, spread: number,
 *   best_known: number|null}} Feature
 * @typedef {{features: Feature[]}} Mixed
 * @typedef {{version: number, made: string, labels: number[], centers: number[][], clusters: Cluster[],
 *   objective: number, inertia: number, gap: number|null,
 *   given_up: {text: string, key?: string,
 *   values?: Record<string, string|number>, cost: number, samples: number[]}[], broken: Broken[],
 *   moved: {sample: number, from: number|string, to: number|string}[], seconds: number,
 *   steps: number[], mixed: Mixed|null}} Version
 * @typedef {{version: number, made: "solve"|"stopped"|"change"|"opened", objective: number,
 *   inertia: number, broken: number, time: string|number, note: Note|null}} VersionLine
 * @typedef {{sample: number, cluster: number}} Move
 * @typedef {{delta: number, delta_percent: number, broken: Broken[], new?: Broken[],
 *   mended: Broken[],
 *   sizes: number[], loads: Record<string, number[]>}} Tried
 * @typedef {{id: string, name: string, columns: string[], matched: number, unknown: string[], n_unknown?: number,
 *   kind?: "clusters"|"links"}} Previous
 * @typedef {{iteration: number, objective: number, best: number, gap: number|null,
 *   seconds: number, phase: string}} Progress
 */
export {};
