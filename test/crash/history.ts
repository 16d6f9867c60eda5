/** Checks whether concurrent operations of several processes explain what a store holds. */
import { addedBy, differences, effectOn, type Operation, type Rows } from '../walk/model.js';

/**
 * An operation with its times, all on one clock. Without acknowledgement, it may take effect at any time after its
 * beginning.
 */
export interface Act {
  operation: Operation;
  begin: number;
  /** When it was acknowledged; Infinity if it was not. */
  end: number;
}

interface Explained {
  /** Descriptions of rows that no order of the operations explains. */
  faults: string[];
  /** Whether only unacknowledged operations are at fault. */
  isPartial: boolean;
  /** How many unacknowledged operations took effect, and how many did not. */
  whole: number;
  absent: number;
}

/**
 * Compares the stored rows with the results of the possible orders of the operations. Each operation took effect as a
 * whole or, unless it was acknowledged, not at all; one acknowledged before another began comes first. No two of them
 * delete the same row.
 */
export function explain(base: Rows, acts: readonly Act[], found: Rows): Explained {
  const names = new Set([...base.keys(), ...found.keys()]);
  for (const { operation } of acts) for (const name of addedBy(operation)) names.add(name);
  const isIn = acts.map((act) => act.end !== Infinity || leftTrace(act, acts, base, found, names));
  const ins = acts.filter((_, i) => isIn[i]);
  const unacknowledged = acts.filter(({ end }) => end === Infinity).length;
  const whole = ins.filter(({ end }) => end === Infinity).length;
  const faults: string[] = [];
  let isPartial = true;
  /** For each operation, those that must come later. */
  const later = new Map<Act, Set<Act>>(ins.map((act) => [act, new Set()]));
  for (const first of ins) {
    for (const second of ins) if (first.end < second.begin) later.get(first)?.add(second);
  }
  for (const name of names) {
    const writers = ins.filter((act) => effectOn(name, act.operation) !== undefined);
    const value = found.get(name) ?? null;
    if (writers.length === 0) {
      if (Object.is(value, base.get(name) ?? null)) continue;
      faults.push(...differences(only(base, name), only(found, name)));
      isPartial = false;
      continue;
    }
    const last = writers.find(
      (act) =>
        Object.is(effectOn(name, act.operation), value) &&
        !writers.some(({ begin }) => act.end < begin),
    );
    if (last !== undefined) {
      for (const writer of writers) if (writer !== last) later.get(writer)?.add(last);
      continue;
    }
    const writtenBy = writers
      .map((act) => `${act.operation.number} ${act.operation.kind}`)
      .join(', ');
    faults.push(
      `${name}: found ${value ?? 'none'}, before it was ${base.get(name) ?? 'none'}, and written by ${writtenBy}`,
    );
    if (writers.some(({ end }) => end !== Infinity)) isPartial = false;
  }
  if (faults.length === 0 && !isOrder(later)) {
    faults.push('no order of the operations leaves these rows');
    isPartial = false;
  }
  return { faults, isPartial, whole, absent: unacknowledged - whole };
}

/** Whether something is stored that only this operation can have done. */
function leftTrace(
  act: Act,
  acts: readonly Act[],
  base: Rows,
  found: Rows,
  names: ReadonlySet<string>,
): boolean {
  for (const name of names) {
    const made = effectOn(name, act.operation);
    if (made === undefined) continue;
    if (made !== null) {
      if (found.get(name) === made && base.get(name) !== made) return true;
      continue;
    }
    if (found.has(name)) continue;
    const wasThere = acts.some(
      ({ end, operation }) => end !== Infinity && typeof effectOn(name, operation) === 'string',
    );
    if (base.has(name) || wasThere) return true;
  }
  return false;
}

/** Whether the operations can be ordered: none must come later than itself. */
function isOrder(later: ReadonlyMap<Act, ReadonlySet<Act>>): boolean {
  const left = new Map(Array.from(later, ([act, those]) => [act, new Set(those)]));
  for (;;) {
    const last = [...left].find(([, those]) => those.size === 0);
    if (last === undefined) return left.size === 0;
    left.delete(last[0]);
    for (const those of left.values()) those.delete(last[0]);
  }
}

function only(rows: Rows, name: string): Rows {
  const value = rows.get(name);
  return value === undefined ? new Map() : new Map([[name, value]]);
}
