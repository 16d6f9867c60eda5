import { MAX_BIN, MIN_BIN } from '../ladder/ladder.js';
import type { LadderAccumulator } from './accumulator.js';
import type { FaultLog } from './faults.js';
import { INTEGER, NOT_NEGATIVE, isTuple, readList, type Fields } from './fields.js';

/** Adds the `cells` of a market that was binned elsewhere; `path` is the market's. */
export function addCells(
  into: LadderAccumulator,
  market: Fields,
  path: string,
  faults: FaultLog,
): void {
  const cells = readList(market, 'cells', path, faults);
  if (cells === null) return;
  const seen = new Set<number>();
  for (let i = 0; i < cells.length; i++) {
    const cell = cells[i];
    const problem = cellProblem(cell, seen);
    if (problem !== null) {
      faults.add(`${path}.cells[${i}]`, problem);
      continue;
    }
    const bin = (cell as number[])[0];
    const support = (cell as number[])[1];
    const resistance = (cell as number[])[2];
    seen.add(bin);
    addCell(into, bin, support, resistance);
  }
}

function addCell(into: LadderAccumulator, bin: number, support: number, resistance: number): void {
  if (bin >= MIN_BIN && bin <= MAX_BIN) {
    into.supportUsd[bin - MIN_BIN] += support;
    into.resistanceUsd[bin - MIN_BIN] += resistance;
  } else if (support > 0 || resistance > 0) {
    into.droppedLevels++;
  }
}

function cellProblem(cell: unknown, seen: ReadonlySet<number>): string | null {
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
  return seen.has(bin) ? `bin ${bin} stands twice` : null;
}
