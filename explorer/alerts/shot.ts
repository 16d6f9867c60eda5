/** Snapshots as alerts read them. */
import type { ReplayPage } from '../../client/index.js';
import { BIN_RATIO } from '../ladder/ladder.js';
import { FULL_BAND } from '../state/url.js';
import type { Shot } from './rules.js';

/** The bins of the API's usual band: a reply leaves out those without depth. */
const FIRST_BIN = Math.ceil(Math.log1p(FULL_BAND.minPct / 100) / Math.log(BIN_RATIO));
const LAST_BIN = Math.floor(Math.log1p(FULL_BAND.maxPct / 100) / Math.log(BIN_RATIO));

/** The whole ladder of a snapshot of a page grouped by `all`: a bin without depth is known to have none. */
export function shotOf({ t, price_usd, ...cells }: ReplayPage['snapshots'][number]): Shot {
  const length = LAST_BIN - FIRST_BIN + 1;
  const [supportUsd, resistanceUsd] = [new Float64Array(length), new Float64Array(length)];
  for (const [i, bin] of cells.bin.entries()) {
    supportUsd[bin - FIRST_BIN] = cells.support_usd[i];
    resistanceUsd[bin - FIRST_BIN] = cells.resistance_usd[i];
  }
  const bins = Int32Array.from({ length }, (_, i) => FIRST_BIN + i);
  return { t, priceUsd: price_usd, bins, supportUsd, resistanceUsd };
}
