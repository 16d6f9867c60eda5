/** What a token's page exports: the cells in sight, their file's name, and a picture of the map. */
import type { AddressClient } from '../../client/address-client.js';
import type { ReplayParameters } from '../../client/index.js';
import type { Picture } from '../heatmap/picture.js';
import type { Ladder } from '../ladder/ladder.js';
import { currentS } from '../state/clock.js';
import { shortAddress } from '../state/format.js';
import { filterOf, spanInSight, timesInSight } from '../state/requests.js';
import type { TokenView } from '../state/url.js';
import type { FileColumn } from './columns.js';
import { fileNameOf, titleOf } from './depth-name.js';
import type { Size } from './sizes.js';

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
  const { client, address } = source;
  if (client === null) return [];
  const { columnsOfHistory } = await import('./history.js');
  return columnsOfHistory(client, address, queryOf(source));
}

/** How many rows columnsOf() has. @throws FathomError */
export async function sizeOf(source: TokenSource): Promise<Size> {
  const { client, address, view } = source;
  if (client === null) return { rows: 0, hasMore: false, group: view.group };
  const { sizeOf: sizeOfHistory } = await import('./sizes.js');
  return sizeOfHistory(client, address, queryOf(source));
}

function queryOf({ view, historyFromS }: TokenSource): ReplayParameters {
  const { from, to } = timesInSight(view, historyFromS);
  const { minPct, maxPct } = view.band;
  const { group } = view;
  return { from, to, group, ...filterOf(view), min_pct: minPct, max_pct: maxPct };
}

export async function pictureOf(source: TokenSource): Promise<Blob> {
  const { address, symbol, view, choices, picture } = source;
  const { pngOf } = await import('./png.js');
  return pngOf(
    picture?.photograph() ?? null,
    titleOf(symbol ?? shortAddress(address), view, choices),
  );
}
