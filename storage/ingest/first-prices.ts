/** Compares the first price of a file's tokens with the stored one: if they are far apart, the unit is probably wrong. */
import type { BinnedRun } from '../../compute/ingest/binned-chunk.js';
import type { WarningTally } from '../../compute/ingest/warnings.js';
import type { TokenMoment } from '../contract.js';
import type { UseStore } from '../operations.js';

/** Tokens compared per file. A few suffice: a wrong unit affects all of them, and each costs a read of a segment. */
const MAX_COMPARED_TOKENS = 8;
/** A token's price seldom changes by more than this factor between two files; a wrong unit is off by 1,000 or more. */
const FAR_FACTOR = 100;

interface FirstPrice extends TokenMoment {
  priceUsd: number;
  line: number;
}

export class FirstPrices {
  /** By chain and address. */
  private readonly byToken = new Map<string, FirstPrice>();

  constructor(private readonly useStore: UseStore) {}

  add({ run: { chain, address, t, priceUsd }, lines }: BinnedRun): void {
    const token = `${chain}:${address}`;
    if (t.length === 0 || this.byToken.has(token)) return;
    if (this.byToken.size === MAX_COMPARED_TOKENS) return;
    this.byToken.set(token, { chain, address, t: t[0], priceUsd: priceUsd[0], line: lines[0] });
  }

  async compare(warnings: WarningTally): Promise<void> {
    const first = [...this.byToken.values()];
    if (first.length === 0) return;
    const moments = first.map(({ chain, address, t }) => ({ chain, address, t }));
    const storedUsd = await this.useStore((store) => store.pricesNear(moments));
    for (const [i, { chain, address, priceUsd, line }] of first.entries()) {
      const ratio = priceUsd / storedUsd[i];
      if (!(ratio > FAR_FACTOR || ratio < 1 / FAR_FACTOR)) continue;
      const what = (): string =>
        `the price of ${chain}:${address} is ${priceUsd}, the stored one is ${storedUsd[i]} (USD): are the prices in another unit?`;
      warnings.add('far_from_stored', line, what);
    }
  }
}
