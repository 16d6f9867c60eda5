/** A replay page as JSON text, byte for byte as JSON.stringify writes it. */
import type { Encoders } from './page-memory.js';
import { beginSnapshots } from './page-writer.js';
import { TIERS } from '../market.js';
import { indexKey, type PageSnapshots } from './page.js';
import { encodeHead, PAGE_TAIL, type PageText, textOfSnapshots } from './page-text.js';

const TAIL = Buffer.from(PAGE_TAIL);

/** The columns from which snapshots are written. */
export type SnapshotColumns = Omit<PageSnapshots, 'snapshotCount'>;

/**
 * Starts a document of `fields` and then snapshots. Amounts are exact cents in their shortest form; other numbers are as JavaScript writes
 * them. Above 2^46 USD, where cents are finer than doubles, the text is still exact and therefore longer than
 * a double's shortest form.
 */
export function beginJson(snapshots: PageSnapshots, fields: object, encoders: Encoders): PageText {
  const head = encodeHead(fields);
  beginText(snapshots, head, encoders);
  return textOfSnapshots(head.length, { hasCommas: true, tail: TAIL });
}

const NO_BYTES = new Uint8Array(0);

/** Starts the page writer's text of snapshots without a head. */
export function beginSnapshotTexts(columns: SnapshotColumns, encoders: Encoders): void {
  beginText(columns, NO_BYTES, encoders);
}

function beginText(columns: SnapshotColumns, head: Uint8Array, encoders: Encoders): void {
  const { t, tier, priceUsd } = columns;
  const texts = {
    isPacked: false,
    openings: Array.from(
      t,
      (time, s) =>
        [`{"t":${time}`, `,"tier":"${TIERS[tier[s]]}","price_usd":${priceUsd[s]}`] as const,
    ),
    arrayKeys: [`,"${indexKey(columns)}":[`, ',"bin":[', ',"support_usd":[', ',"resistance_usd":['],
  };
  beginSnapshots(columns, texts, head, TAIL.length, encoders);
}
