/** Markets whose depth was binned elsewhere. */
import { MAX_BIN, MIN_BIN } from '../ladder.js';
import type { LadderAccumulator } from './accumulator.js';
import { type FaultLog, type Fields, INTEGER, isTuple, NOT_NEGATIVE, readList } from './fields.js';

/** Adds a market's `cells` (docs/definitions.md#cells) to the ladder; `path` is the market's. */
export function addCells(
  into: LadderAccumulator,
  market: Fields,
  path: string,
  faults: FaultLog,
): void {
  const cells = readList(market, 'cells', path, faults);
  if (cells === null) return;
  let last = -Infinity;
  /** All bins so far, from the first one that does not ascend; most lists ascend. */
  let seen: Set<number> | null = null;
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i];
    const problem = cellProblem(cell);
    if (problem !== null) {
      faults.add(`${path}.cells[${i}]`, problem);
      continue;
    }
    const bin = (cell as number[])[0];
    if (bin <= last) seen ??= binsOf(cells.slice(0, i));
    if (seen?.has(bin) === true) {
      faults.add(`${path}.cells[${i}]`, `bin ${bin} occurs twice`);
      continue;
    }
    seen?.add(bin);
    last = bin;
    addCell(into, cell as number[]);
  }
}

function binsOf(cells: readonly unknown[]): Set<number> {
  const sound = cells.filter((cell) => cellProblem(cell) === null) as number[][];
  return new Set(sound.map(([bin]) => bin));
}

function addCell(into: LadderAccumulator, cell: readonly number[]): void {
  const bin = cell[0];
  const support = cell[1];
  const resistance = cell[2];
  if (bin >= MIN_BIN && bin <= MAX_BIN) {
    const index = bin - MIN_BIN;
    into.supportUsd[index] += support;
    into.resistanceUsd[index] += resistance;
    into.reach(index, index);
    into.levels++;
  } else if (support > 0 || resistance > 0) {
    into.levels++;
    into.droppedLevels++;
  }
}

function cellProblem(cell: unknown): string | null {
  if (!isTuple(cell, 3)) return 'must be [bin, support_usd, resistance_usd]';
  const bin = cell[0];
  const support = cell[1];
  const resistance = cell[2];
  if (typeof bin !== 'number' || !INTEGER.holds(bin)) return 'bin must be an integer';
  if (typeof support !== 'number' || !NOT_NEGATIVE.holds(support)) {
    return 'support_usd must be a number >= 0';
  }
  if (typeof resistance !== 'number' || !NOT_NEGATIVE.holds(resistance)) {
    return 'resistance_usd must be a number >= 0';
  }
  return null;
}
