/** The cells of a window as columns: those of `fathom replay`, which `fathom ingest cells` reads. */
import type { AddressClient } from '../../client/address-client.js';
import type { ReplayPage, ReplayParameters } from '../../client/index.js';
import { BIN_RATIO } from '../ladder/ladder.js';
import type { Field, FileColumn } from './columns.js';

/** Most cells of a file. */
export const MAX_FILE_CELLS = 2_000_000;

/** Columns that describe a cell's market or group. */
const SLOT_COLUMNS: Readonly<Record<ReplayPage['group'], readonly string[]>> = {
  market: ['source', 'exchange_type', 'type', 'market_address', 'pair'],
  venue: ['group_key', 'group_label', 'type'],
  type: ['group_key', 'group_label', 'type'],
  all: [],
};
const KINDS: Readonly<Record<string, FileColumn['kind']>> = {
  t: 'whole',
  bin: 'whole',
  timestamp: 'time',
};

/** @throws Error if the window has more than MAX_FILE_CELLS */
export async function columnsOfHistory(
  client: AddressClient,
  address: string,
  parameters: ReplayParameters,
): Promise<FileColumn[]> {
  const columns = [
    'chain',
    'address',
    't',
    'tier',
    'price_usd',
    ...SLOT_COLUMNS[parameters.group ?? 'market'],
    'bin',
    'support_usd',
    'resistance_usd',
    'timestamp',
    'price',
  ].map((name): FileColumn => ({ name, values: [], kind: KINDS[name] }));
  for await (const page of client.replay(address, parameters)) {
    for (const row of rowsOf(page)) {
      for (const [at, value] of row.entries()) columns[at].values.push(value);
    }
    checkCells(columns);
  }
  return columns;
}

/** A map beside others: its name, and what it shows. */
interface NamedMap {
  label: string;
  address: string;
  parameters: ReplayParameters;
}

/**
 * The cells of several maps, each row with its map's name.
 *
 * @throws Error if the maps have more than MAX_FILE_CELLS
 */
export async function columnsOfMaps(
  client: AddressClient,
  maps: readonly NamedMap[],
): Promise<FileColumn[]> {
  const all: FileColumn[] = [];
  for (const { label, address, parameters } of maps) {
    const own = await columnsOfHistory(client, address, { ...parameters, group: 'all' });
    own.unshift({ name: 'map', values: own[0].values.map(() => label) });
    for (const [at, column] of own.entries()) {
      all[at] ??= { ...column, values: [] };
      for (const value of column.values) all[at].values.push(value);
    }
    checkCells(all);
  }
  return all;
}

function checkCells(columns: readonly FileColumn[]): void {
  if (columns[0].values.length <= MAX_FILE_CELLS) return;
  const most = MAX_FILE_CELLS.toLocaleString('en-US');
  throw new Error(`More than ${most} cells are in sight: zoom in, or use 'fathom replay'.`);
}

function* rowsOf(page: ReplayPage): Generator<Field[]> {
  const { chain, token, resolved_token: address = token } = page;
  const slots = page.group === 'market' ? marketFields(page) : groupFields(page);
  for (const snapshot of page.snapshots) {
    const { t, tier, price_usd: priceUsd, bin: bins } = snapshot;
    const index = snapshot.market_idx ?? snapshot.group_idx ?? [];
    for (const [at, bin] of bins.entries()) {
      yield [
        chain,
        address,
        t,
        tier,
        priceUsd,
        ...(slots[index[at]] ?? []),
        bin,
        snapshot.support_usd[at],
        snapshot.resistance_usd[at],
        t * 1000,
        priceUsd * BIN_RATIO ** bin,
      ];
    }
  }
}

function marketFields({ markets, facets }: ReplayPage): Field[][] {
  // A venue has one type.
  const types = new Map(facets?.venues.map(({ label, type }) => [label, type]));
  return markets.map(({ source, exchange_type: exchange, address, pair }) => [
    source,
    exchange,
    types.get(source) ?? null,
    address,
    pair,
  ]);
}

function groupFields({ groups }: ReplayPage): Field[][] {
  return groups.map(({ key, label, type }) => [key, label, type]);
}
