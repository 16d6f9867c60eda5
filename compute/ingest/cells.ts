/** Markets whose depth was binned elsewhere. */
import { MAX_BIN, MIN_BIN } from '../ladder.js';
import type { LadderAccumulator } from './accumulator.js';
import { type FaultLog, type Fields, INTEGER, NOT_NEGATIVE } from './fields.js';
import type { NumberList, NumberLists } from './number-lists.js';

/** Adds a market's `cells` (docs/definitions.md#cells) to the ladder; `path` is the market's. */
export function addCells(
  into: LadderAccumulator,
  market: Fields,
  path: string,
  faults: FaultLog,
  lists: NumberLists,
): void {
  const cells = lists.read(market, 'cells', path, faults);
  if (cells === null) return;
  const { values, start, length } = cells;
  let last = -Infinity;
  /** All bins so far, from the first one that does not ascend; most lists ascend. */
  let seen: Set<number> | null = null;
  for (let i = 0, at = start; i < length; i++, at += 3) {
    const bin = values[at];
    const support = values[at + 1];
    const resistance = values[at + 2];
    const isSound =
      INTEGER.holds(bin) && NOT_NEGATIVE.holds(support) && NOT_NEGATIVE.holds(resistance);
    if (!isSound) {
      faults.add(`${path}.cells[${i}]`, cellProblem(cells, i)!);
      continue;
    }
    if (bin <= last) seen ??= binsOf(cells, i);
    if (seen?.has(bin) === true) {
      faults.add(`${path}.cells[${i}]`, `bin ${bin} occurs twice`);
      continue;
    }
    seen?.add(bin);
    last = bin;
    addCell(into, bin, support, resistance);
  }
}

/** The bins of the sound ones of the first cells. */
function binsOf(cells: NumberList, count: number): Set<number> {
  const bins = new Set<number>();
  for (let i = 0; i < count; i++) {
    if (cellProblem(cells, i) === null) bins.add(cells.values[cells.start + i * 3]);
  }
  return bins;
}

function addCell(into: LadderAccumulator, bin: number, support: number, resistance: number): void {
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

function cellProblem({ values, start, broken }: NumberList, i: number): string | null {
  if (broken?.has(i)) return 'must be [bin, support_usd, resistance_usd]';
  const at = start + i * 3;
  if (!INTEGER.holds(values[at])) return 'bin must be an integer';
  if (!NOT_NEGATIVE.holds(values[at + 1])) return 'support_usd must be a number >= 0';
  if (!NOT_NEGATIVE.holds(values[at + 2])) return 'resistance_usd must be a number >= 0';
  return null;
}
