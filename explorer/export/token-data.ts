/** What a token's page exports: the cells in sight, their file's name, and a picture of the map. */
import type { AddressClient } from '../../client/address-client.js';
import type { Picture } from '../heatmap/picture.js';
import type { Ladder } from '../ladder/ladder.js';
import { currentS } from '../state/clock.js';
import { shortAddress } from '../state/format.js';
import { filterOf, spanInSight, timesInSight } from '../state/requests.js';
import type { TokenView } from '../state/url.js';
import type { FileColumn } from './columns.js';
import { fileNameOf, titleOf } from './depth-name.js';

export interface TokenSource {
  /** null: there is no key yet. */
  client: AddressClient | null;
  address: string;
  symbol: string | null;
  view: TokenView;
  /** Beginning of the token's history, epoch seconds; null if it is unknown. */
  historyFromS: number | null;
  choices: Ladder['choices'] | null;
  picture: Picture | null;
}

/** The file's name without extension. */
export function nameOf({ address, symbol, view, historyFromS }: TokenSource): string {
  return fileNameOf(symbol ?? address, view, spanInSight(view, historyFromS, currentS()));
}

export async function columnsOf(source: TokenSource): Promise<FileColumn[]> {
  const { client, address, view, historyFromS } = source;
  if (client === null) return [];
  const { columnsOfHistory } = await import('./history.js');
  const { from, to } = timesInSight(view, historyFromS);
  const { minPct, maxPct } = view.band;
  const { group } = view;
  const query = { from, to, group, ...filterOf(view), min_pct: minPct, max_pct: maxPct };
  return columnsOfHistory(client, address, query);
}

export async function pictureOf(source: TokenSource): Promise<Blob> {
  const { address, symbol, view, choices, picture } = source;
  const { pngOf } = await import('./png.js');
  return pngOf(
    picture?.photograph() ?? null,
    titleOf(symbol ?? shortAddress(address), view, choices),
  );
}
