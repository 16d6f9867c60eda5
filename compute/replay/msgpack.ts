/**
 * A replay page as MessagePack: the structure of the JSON reply, only in standard types (maps with string
 * keys, arrays, integers, floats, strings, booleans, nil) that every library reads.
 */
import { packMaps } from '../messagepack.js';
import { TIERS } from '../market.js';
import { indexKey, type PageSnapshots } from './page.js';
import { type PageText, textOfSnapshots } from './page-text.js';
import { beginSnapshots } from './page-writer.js';

const NO_BYTES = new Uint8Array(0);
const FIXMAP = 0x80;
const FLOAT64 = 0xcb;

/**
 * Starts a document of `fields` and then snapshots. Times, indexes and bins are integers; prices and amounts of snapshots are always
 * float64 (the double nearest to the cents), so typed readers see one type per column.
 */
export function beginMsgpack(snapshots: PageSnapshots, fields: object): PageText {
  const { t, tier, priceUsd } = snapshots;
  const document = packMaps({ ...fields, snapshots: [] });
  // Without the header of the empty list.
  const head = Buffer.concat([document.subarray(0, -1), arrayHeader(snapshots.snapshotCount)]);
  const key = indexKey(snapshots);
  const map = String.fromCharCode(FIXMAP | (key === null ? 6 : 7)) + packed('t');
  const tiers = TIERS.map((name) => packed('tier') + packed(name) + packed('price_usd'));
  const texts = {
    isPacked: true,
    openings: Array.from(
      t,
      (time, s) => [map + packed(time), tiers[tier[s]] + packedDouble(priceUsd[s])] as const,
    ),
    arrayKeys: [key ?? '', 'bin', 'support_usd', 'resistance_usd'].map(packed),
  };
  beginSnapshots(snapshots, texts, head, 0, 0);
  return textOfSnapshots(head.length, { hasCommas: false, tail: NO_BYTES });
}

/** What a list of this length begins with. */
export function arrayHeader(length: number): Uint8Array {
  const zeros = packMaps(new Array<number>(length).fill(0));
  return zeros.subarray(0, zeros.length - length);
}

/** A value as MessagePack, one character per byte. */
const packed = (value: string | number): string => packMaps(value).toString('latin1');

const double = Buffer.of(FLOAT64, 0, 0, 0, 0, 0, 0, 0, 0);

function packedDouble(value: number): string {
  double.writeDoubleBE(value, 1);
  return double.toString('latin1');
}
