/** How large files of depth become, before they are made. */
import type { AddressClient } from '../../client/address-client.js';
import type { ReplayParameters } from '../../client/index.js';
import { compact } from '../state/format.js';
import type { FileFormat } from './save.js';

type Group = NonNullable<ReplayParameters['group']>;

/** Bytes of a row, as measured on a market of 17 venues. */
const ROW_BYTES: Readonly<Record<FileFormat, Readonly<Record<Group, number>>>> = {
  parquet: { venue: 8, market: 8, type: 10, all: 16 },
  csv: { venue: 170, market: 190, type: 180, all: 140 },
};

/** The rows of a file. */
export interface Size {
  rows: number;
  /** Whether there are more rows than that. */
  hasMore: boolean;
  group: Group;
}

/** The rows of what is in sight, which cost a request. */
export async function sizeOf(
  client: AddressClient,
  address: string,
  parameters: ReplayParameters,
): Promise<Size> {
  const { row_count: rows, next_from: next } = await client.getReplayPlan({
    address,
    ...parameters,
  });
  return { rows, hasMore: next !== null, group: parameters.group ?? 'market' };
}

/** The rows of several maps, each of which costs a request. */
export async function sizeOfMaps(
  client: AddressClient,
  maps: readonly { address: string; parameters: ReplayParameters }[],
): Promise<Size> {
  const size: Size = { rows: 0, hasMore: false, group: 'all' };
  for (const { address, parameters } of maps) {
    const { rows, hasMore } = await sizeOf(client, address, parameters);
    size.rows += rows;
    size.hasMore ||= hasMore;
  }
  return size;
}

/** `1.10M rows`. */
export const rowsText = ({ rows, hasMore }: Size): string =>
  `${hasMore ? 'More than ' : ''}${compact(rows)} rows`;

/** `about 190 MB`, by two digits. */
export function sizeText({ rows, group }: Size, format: FileFormat): string {
  const bytes = rows * ROW_BYTES[format][group];
  if (bytes < 1000) return 'under 1 kB';
  const [unit, name] = bytes < 1e6 ? [1e3, 'kB'] : bytes < 1e9 ? [1e6, 'MB'] : [1e9, 'GB'];
  return `about ${Number((bytes / unit).toPrecision(2))} ${name}`;
}
