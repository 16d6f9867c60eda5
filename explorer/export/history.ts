/** The cells of a window as columns. */
import type { FathomClient, ReplayParameters } from '../../client/index.js';
import type { FileColumn } from './columns.js';

/** Most cells of a file. */
const MAX_FILE_CELLS = 2_000_000;

/** @throws Error if the window has more than MAX_FILE_CELLS */
export async function columnsOfHistory(
  client: FathomClient,
  address: string,
  parameters: ReplayParameters,
): Promise<FileColumn[]> {
  const columns: FileColumn[] = [
    ...['t', 'tier', 'price_usd', 'bin', 'bin_price_usd', 'group', 'market_address', 'pair'],
    ...['support_usd', 'resistance_usd'],
  ].map((name) => ({ name, values: [] }));
  let cells = 0;
  for await (const cell of client.cells(address, parameters)) {
    if (++cells > MAX_FILE_CELLS) {
      const most = MAX_FILE_CELLS.toLocaleString('en-US');
      throw new Error(`More than ${most} cells are in sight: zoom in, or use 'fathom replay'.`);
    }
    const { t, tier, priceUsd, bin, binPriceUsd, slot, supportUsd, resistanceUsd } = cell;
    const market = slot !== null && 'source' in slot ? slot : null;
    const group = slot !== null && 'key' in slot ? slot.key : (market?.source ?? null);
    const row = [
      ...[t, tier, priceUsd, bin, binPriceUsd, group],
      ...[market?.address ?? null, market?.pair ?? null],
      ...[supportUsd, resistanceUsd],
    ];
    for (const [at, value] of row.entries()) columns[at].values.push(value);
  }
  return columns.filter(({ values }) => cells === 0 || values.some((value) => value !== null));
}
