/** The rules as the person writes them, and the check that follows each change. */
import { ApiError, inTurn, post } from "../api.js";
import { debounced } from "../dom.js";
import { complain, say, words } from "../notify.js";
import { known, set } from "../state.js";
import { t } from "../i18n.js";
import { reason } from "./words.js";
import { puzzle } from "./amounts.js";

/**
 * @typedef {import("../types.js").Card} Card
 * @typedef {import("../types.js").Kind} Kind
 * @typedef {import("../types.js").Rules} Rules
 * @typedef {import("../types.js").Verdict} Verdict
 */

const PAUSE = 350; // milliseconds without a change, then the rules are checked

/** @type {{cards: Card[], clusters: {count: number, names: string[]}}} */
export const draft = { cards: [], clusters: { count: 0, names: [] } };
/** @type {Set<string>} rules that were written here, or taken over: the server may have any */
let own = new Set();
let about = ""; // the table of those rules
let asking = /** @type {AbortController|null} */ (null);

/** Take the rules of the server, if they are others than those written here. */
export function adopt() {
  const rules = known.server?.rules;
  const table = `${known.server?.table?.name} ${known.server?.table?.n_rows}`;
  const same = table === about;
  if (!rules || (same && own.has(JSON.stringify(rules)))) return false;
  const open = same ? draft.cards.filter((card) => !complete(card)) : []; // the server has not heard of
  own = new Set([JSON.stringify(rules)]);
  about = table;
  draft.cards = structuredClone(rules.cards ?? []);
  const taken = new Set(draft.cards.map((card) => card.id));
  for (const card of open)
    draft.cards.push(taken.has(card.id) ? { ...card, id: newCard(card.kind).id } : card);
  draft.clusters = { count: rules.clusters?.count ?? 0, names: [...(rules.clusters?.names ?? [])] };
  return true;
}

/** Names of the clusters as they are written now: those given, else numbers from 1. @returns {string[]} */
export function draftNames() {
  const { count, names } = draft.clusters;
  return Array.from({ length: count }, (_, i) => names[i] ?? String(i + 1));
}

/** A card that says nothing yet. @param {Kind} kind @param {Record<string, any>} [keys] @returns {Card} */
export function newCard(kind, keys = {}) {
  let number = 1;
  const taken = new Set(draft.cards.map((card) => card.id));
  while (taken.has(`c${number}`)) number++;
  return { id: `c${number}`, kind, keys, strength: "must", on: true };
}

/** Does a card say enough to be checked? @param {Card} card */
export function complete(card) {
  const { kind, keys } = card;
  const some = (/** @type {any} */ value) =>
    Array.isArray(value)
      ? value.some((one) => one !== null)
      : value !== undefined && value !== null;
  const bounds = some(keys.min) || some(keys.max);
  const soft = card.strength !== "must";
  switch (kind) {
    case "size":
      return bounds;
    case "capacity":
      return Boolean(keys.column) && bounds;
    case "together":
    case "apart":
      return Boolean(keys.column || keys.partners) || (keys.ids?.length ?? 0) > 1;
    case "known":
      return Boolean(keys.column);
    case "quota":
      return (
        Boolean(keys.column) &&
        ["within", "share_min", "share_max", "count_min", "count_max"].some((key) =>
          some(keys[key]),
        )
      );
    case "fixed":
      return Boolean(keys.column) || ((keys.ids?.length ?? 0) > 0 && some(keys.cluster));
    case "forbidden":
      return (
        (keys.ids?.length ?? 0) > 0 &&
        (Array.isArray(keys.cluster) ? keys.cluster.length > 0 : some(keys.cluster))
      );
    case "stay":
      return Boolean(keys.column || keys.file) && (some(keys.at_most) || soft);
    case "links":
      return Boolean(keys.file);
  }
}

/** The rules have changed: check them after a pause. */
const checkSoon = debounced(() => {
  const why = puzzle();
  if (why === null) void check();
  else set({ checking: false, verdict: incomplete(why) });
}, PAUSE);

export function changed() {
  asking?.abort();
  set({ checking: true, marked: { cards: [], samples: [] } });
  checkSoon();
}

/** Ask the server whether the rules can be met; an older question is taken back. */
export async function check() {
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  set({ checking: true });
  await inTurn(() => Promise.resolve()); // what is under way may change what they are about
  if (mine.signal.aborted) return;
  if (!known.server?.table || draft.clusters.count < 1) {
    set({ checking: false, verdict: null });
    return;
  }
  const sent = structuredClone({ cards: draft.cards.filter(complete), clusters: draft.clusters });
  const text = JSON.stringify(sent);
  const table = subject();
  own.add(text);
  try {
    /** @type {Verdict} */
    const verdict = await post("/api/rules", sent, mine.signal);
    if (mine.signal.aborted) return;
    if (subject() !== table) return check();
    own = new Set([text]);
    set({ verdict, checking: false, server: { ...known.server, rules: sent, verdict } });
    mark(verdict);
    say([t(`verdict.${verdict.verdict}`), reason(verdict)].filter(Boolean).join(" "));
  } catch (error) {
    if (mine.signal.aborted) return;
    if (subject() !== table) return check();
    if (error instanceof ApiError && error.kind === "stale") {
      set({ checking: false });
      complain(error);
      return;
    }
    const said = words(error) ?? "";
    const card = error instanceof ApiError ? (error.more.card ?? null) : null;
    if (error instanceof ApiError && error.kind === "bad_input") {
      own = new Set([text]); // kept there, although it cannot be checked
      set({ server: { ...known.server, rules: sent, verdict: null } });
    }
    set({
      checking: false,
      verdict: incomplete(said, card ? [{ text: said, card, samples: [] }] : []),
      marked: { cards: card ? [card] : [], samples: [] },
    });
    say(said);
  }
}

/** What rules are about, as the server has it. */
function subject() {
  const { table, setup } = known.server ?? {};
  return JSON.stringify([table?.name, table?.n_rows, table?.reading, setup]);
}

/**
 * The rules could not be checked as they are.
 * @param {string} message
 * @param {Verdict["conflict"]} [conflict]
 * @returns {Verdict}
 */
function incomplete(message, conflict = []) {
  return { verdict: "incomplete", message, conflict, remedies: [], notes: [], seconds: 0 };
}

/** Show what a conflict names. @param {Verdict} verdict */
function mark(verdict) {
  if (verdict.verdict !== "infeasible") {
    set({ marked: { cards: [], samples: [] } });
    return;
  }
  const cards = verdict.conflict.map((one) => one.card).filter((card) => card !== null);
  const samples = verdict.conflict.flatMap((one) => one.samples);
  set({ marked: { cards: [...new Set(cards)], samples: [...new Set(samples)] } });
}
