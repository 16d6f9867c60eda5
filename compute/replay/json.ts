/** A replay page as JSON text, byte for byte as JSON.stringify writes it. */
import { beginSnapshots, textBytes, type TextUse, writeSnapshot } from './page-writer.js';
import { TIERS } from '../market.js';
import { indexKey, type Page, type ReplayEnvelope } from './page.js';
import { encodeHead, PAGE_TAIL } from './page-text.js';

const TAIL = Buffer.from(PAGE_TAIL);
/** Nothing compresses the text while it is written. */
const TEXT_ALONE: TextUse = { encoders: 0, maxDistance: 0 };

/** The columns from which snapshots are written. */
export type SnapshotColumns = Pick<
  Page,
  't' | 'tier' | 'priceUsd' | 'cellOffsets' | 'index' | 'bin' | 'supportCents' | 'resistanceCents'
> & { query: Pick<Page['query'], 'group'> };

/**
 * Encodes a page. Amounts are exact cents in their shortest form; other numbers are as JavaScript writes
 * them. Above 2^46 USD, where cents are finer than doubles, the text is still exact and therefore longer than
 * a double's shortest form.
 *
 * @returns a view that is valid until another text begins
 */
export function writeJson(page: Page, envelope: ReplayEnvelope | null): Uint8Array<ArrayBuffer> {
  let end = beginJson(page, envelope, TEXT_ALONE);
  for (let s = 0; s < page.snapshotCount; s++) end = writeSnapshot(s, s > 0);
  return endJson(end);
}

/** Starts the page writer's text of a page, which writeSnapshot() continues. @returns the end of its head */
export function beginJson(page: Page, envelope: ReplayEnvelope | null, use: TextUse): number {
  const head = encodeHead(page, envelope);
  beginText(page, head, use);
  return head.length;
}

/** Ends the text of a page. @param end of its snapshots */
export function endJson(end: number): Uint8Array<ArrayBuffer> {
  const text = textBytes(end + TAIL.length);
  text.set(TAIL, end);
  return text;
}

const NO_BYTES = new Uint8Array(0);

/** Starts the page writer's text of snapshots without a head. */
export function beginSnapshotTexts(columns: SnapshotColumns, use: TextUse): void {
  beginText(columns, NO_BYTES, use);
}

function beginText(columns: SnapshotColumns, head: Uint8Array, use: TextUse): void {
  const { t, tier, priceUsd, cellOffsets, index, bin, supportCents, resistanceCents } = columns;
  const openings: string[] = [];
  const tierOffsets = new Uint32Array(t.length);
  for (let s = 0; s < t.length; s++) {
    const time = `{"t":${t[s]}`;
    tierOffsets[s] = time.length;
    openings.push(`${time},"tier":"${TIERS[tier[s]]}","price_usd":${priceUsd[s]}`);
  }
  const key = indexKey(columns);
  beginSnapshots(
    {
      cellOffsets,
      index: key === null ? null : index,
      bin,
      supportCents,
      resistanceCents,
      openings,
      tierOffsets,
      arrayKeys: [`,"${key}":[`, ',"bin":[', ',"support_usd":[', ',"resistance_usd":['],
    },
    head,
    TAIL.length,
    use,
  );
}
