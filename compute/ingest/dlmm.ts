/** Pools of discrete bins (DLMM) as depth. */
import type { LadderAccumulator } from './accumulator.js';
import {
  DECIMALS,
  type FaultLog,
  type Fields,
  INTEGER,
  integerWithin,
  MAX_BIN_STEP_BP,
  NOT_NEGATIVE,
  POSITIVE,
  readNumber,
} from './fields.js';
import type { NumberList, NumberLists } from './number-lists.js';

/** A pool of discrete bins; amounts in human units. */
interface DlmmBody {
  /** Basis points from one bin's price to the next. */
  binStepBp: number;
  ids: Float64Array;
  amountX: Float64Array;
  amountY: Float64Array;
  decimalsX: number;
  decimalsY: number;
  /** Which of the two is the ladder's token. */
  token: 'x' | 'y';
  /** Price in USD of the other side. */
  quoteUsd: number;
}

const BIN_STEP = integerWithin(1, MAX_BIN_STEP_BP);

/** Reads a `dlmm` body; null and faults if a field is wrong. */
export function readDlmm(
  body: Fields,
  path: string,
  faults: FaultLog,
  lists: NumberLists,
): DlmmBody | null {
  const before = faults.count;
  const binStepBp = readNumber(body, 'bin_step', BIN_STEP, path, faults);
  readNumber(body, 'active_id', INTEGER, path, faults);
  const bins = readBins(lists.read(body, 'bins', path, faults), path, faults);
  const decimalsX = readNumber(body, 'decimals_x', DECIMALS, path, faults);
  const decimalsY = readNumber(body, 'decimals_y', DECIMALS, path, faults);
  const token = body.token;
  if (token !== 'x' && token !== 'y') faults.add(`${path}.token`, 'must be "x" or "y"');
  const quoteUsd = readNumber(body, 'quote_usd', POSITIVE, path, faults);
  if (faults.count !== before || bins === null) return null;
  return { binStepBp, ...bins, decimalsX, decimalsY, token: token as 'x' | 'y', quoteUsd };
}

function readBins(
  list: NumberList | null,
  path: string,
  faults: FaultLog,
): Pick<DlmmBody, 'ids' | 'amountX' | 'amountY'> | null {
  if (list === null) return null;
  const { values, start, length } = list;
  const ids = new Float64Array(length);
  const amountX = new Float64Array(length);
  const amountY = new Float64Array(length);
  const seen = new Set<number>();
  for (let i = 0, at = start; i < length; i++, at += 3) {
    const problem = binProblem(list, i, seen);
    if (problem !== null) {
      faults.add(`${path}.bins[${i}]`, problem);
      continue;
    }
    ids[i] = values[at];
    amountX[i] = values[at + 1];
    amountY[i] = values[at + 2];
    seen.add(ids[i]);
  }
  return { ids, amountX, amountY };
}

function binProblem(
  { values, start, broken }: NumberList,
  i: number,
  seen: ReadonlySet<number>,
): string | null {
  if (broken?.has(i)) return 'must be [id, amount_x, amount_y]';
  const at = start + i * 3;
  const id = values[at];
  if (!INTEGER.holds(id)) return 'id must be an integer';
  if (!NOT_NEGATIVE.holds(values[at + 1])) return 'amount_x must be a number >= 0';
  if (!NOT_NEGATIVE.holds(values[at + 2])) return 'amount_y must be a number >= 0';
  return seen.has(id) ? `bin id ${id} occurs twice` : null;
}

/**
 * Adds each bin as a level (docs/definitions.md#dlmm): the other token's amount to support, the ladder's
 * token's amount to resistance, both in USD at the bin's price.
 */
export function addDlmm(into: LadderAccumulator, pool: DlmmBody): void {
  const { ids, quoteUsd } = pool;
  const ofX = pool.token === 'x';
  const tokenAmount = ofX ? pool.amountX : pool.amountY;
  const quoteAmount = ofX ? pool.amountY : pool.amountX;
  const sign = ofX ? 1 : -1;
  const lnStep = sign * Math.log1p(pool.binStepBp / 10_000);
  const unitUsd = Math.pow(10, sign * (pool.decimalsX - pool.decimalsY)) * quoteUsd;
  for (let i = 0; i < ids.length; i++) {
    const priceUsd = Math.exp(ids[i] * lnStep) * unitUsd;
    const token = tokenAmount[i];
    const quote = quoteAmount[i];
    if (quote > 0) into.addLevel(into.supportUsd, priceUsd, quote * quoteUsd);
    if (token > 0) into.addLevel(into.resistanceUsd, priceUsd, token * priceUsd);
  }
}
