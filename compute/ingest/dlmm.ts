/** Pools of discrete bins (DLMM) as depth. */
import type { LadderAccumulator } from './accumulator.js';
import {
  DECIMALS,
  type FaultLog,
  type Fields,
  INTEGER,
  integerWithin,
  isTuple,
  MAX_BIN_STEP_BP,
  NOT_NEGATIVE,
  POSITIVE,
  readList,
  readNumber,
} from './fields.js';

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
export function readDlmm(body: Fields, path: string, faults: FaultLog): DlmmBody | null {
  const before = faults.count;
  const binStepBp = readNumber(body, 'bin_step', BIN_STEP, path, faults);
  readNumber(body, 'active_id', INTEGER, path, faults);
  const bins = readBins(body, path, faults);
  const decimalsX = readNumber(body, 'decimals_x', DECIMALS, path, faults);
  const decimalsY = readNumber(body, 'decimals_y', DECIMALS, path, faults);
  const token = body.token;
  if (token !== 'x' && token !== 'y') faults.add(`${path}.token`, 'must be "x" or "y"');
  const quoteUsd = readNumber(body, 'quote_usd', POSITIVE, path, faults);
  if (faults.count !== before || bins === null) return null;
  return { binStepBp, ...bins, decimalsX, decimalsY, token: token as 'x' | 'y', quoteUsd };
}

function readBins(
  body: Fields,
  path: string,
  faults: FaultLog,
): Pick<DlmmBody, 'ids' | 'amountX' | 'amountY'> | null {
  const list = readList(body, 'bins', path, faults);
  if (list === null) return null;
  const ids = new Float64Array(list.length);
  const amountX = new Float64Array(list.length);
  const amountY = new Float64Array(list.length);
  const seen = new Set<number>();
  for (let i = 0; i < list.length; i++) {
    const entry = list[i];
    const problem = binProblem(entry, seen);
    if (problem !== null) {
      faults.add(`${path}.bins[${i}]`, problem);
      continue;
    }
    ids[i] = (entry as number[])[0];
    amountX[i] = (entry as number[])[1];
    amountY[i] = (entry as number[])[2];
    seen.add(ids[i]);
  }
  return { ids, amountX, amountY };
}

function binProblem(entry: unknown, seen: ReadonlySet<number>): string | null {
  if (!isTuple(entry, 3)) return 'must be [id, amount_x, amount_y]';
  const id = entry[0];
  const x = entry[1];
  const y = entry[2];
  if (typeof id !== 'number' || !INTEGER.holds(id)) return 'id must be an integer';
  if (typeof x !== 'number' || !NOT_NEGATIVE.holds(x)) return 'amount_x must be a number >= 0';
  if (typeof y !== 'number' || !NOT_NEGATIVE.holds(y)) return 'amount_y must be a number >= 0';
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
