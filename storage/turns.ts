/** Cuts long work on the event loop into turns, between which the server answers requests. */
import { type JoinedTexts, partsOf } from '../compute/joined-texts.js';

const TURN_MS = 0.5;
/** The first turn begins at once, and may follow another work's turn before the loop polls. */
const FIRST_TURN_MS = 0.25;

/** Work that waits for its next turn. */
const waiting: (() => void)[] = [];

/** Between two polls for requests only one waiter gets a turn, however many there are. */
function beginNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(beginNext);
}

/** Immediates that are set while the loop handles what a poll has brought run before the next poll. */
function beginAfterPoll(): void {
  setImmediate(() => setImmediate(beginNext));
}

export class Turns {
  private untilMs = performance.now() + FIRST_TURN_MS;

  /** Call between two steps of the work: ends a turn that has used up its time. */
  take(): Promise<void> | void {
    if (performance.now() < this.untilMs) return;
    return this.next();
  }

  private async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) beginAfterPoll();
    });
    this.untilMs = performance.now() + TURN_MS;
  }
}

/** All items of an iterable, collected in turns. */
export async function listInTurns<T>(items: Iterable<T>): Promise<T[]> {
  const turns = new Turns();
  const list: T[] = [];
  for (const item of items) {
    list.push(item);
    await turns.take();
  }
  return list;
}

/** Joins the texts of a task's input in turns. */
export async function joinTexts(texts: readonly string[]): Promise<JoinedTexts> {
  return { parts: await listInTurns(partsOf(texts)) };
}

/** Items sorted or merged between two checks of the clock: less than a millisecond's work. */
const ITEMS_AT_ONCE = 1024;

/** Sorts a copy in turns; stable, like `Array.sort`. */
export async function sortInTurns<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  turns: Turns,
): Promise<T[]> {
  let lists: T[][] = [];
  for (let from = 0; from < items.length; from += ITEMS_AT_ONCE) {
    lists.push(items.slice(from, from + ITEMS_AT_ONCE).sort(compare));
    await turns.take();
  }
  while (lists.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i + 1 < lists.length; i += 2) {
      merged.push(await merge(lists[i], lists[i + 1], compare, turns));
    }
    if (lists.length % 2 === 1) merged.push(lists[lists.length - 1]);
    lists = merged;
  }
  return lists[0] ?? [];
}

async function merge<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
  turns: Turns,
): Promise<T[]> {
  const merged: T[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const takesA = j === b.length || (i < a.length && compare(a[i], b[j]) <= 0);
    merged.push(takesA ? a[i++] : b[j++]);
    if (merged.length % ITEMS_AT_ONCE === 0) await turns.take();
  }
  return merged;
}
