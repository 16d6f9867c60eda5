/** A replay page as received: JSON, checked against the endpoint's schema. */
import { checkerOf, fieldOf } from '../api/checker.js';
import type { Static } from '../api/type.js';
import { getReplay } from '../replay/replay.js';

export type RemotePage = Static<(typeof getReplay)['response']>;
export type RemoteSnapshot = RemotePage['snapshots'][number];
export type RemoteMarket = RemotePage['markets'][number];
export type RemoteGroup = RemotePage['groups'][number];

/** The reply is not a replay page; the message says what was expected. */
export class PageFault extends Error {
  override readonly name = 'PageFault';
}

const findFault = checkerOf(getReplay.response);

/** Key of a snapshot's indexes into the page's markets or groups; null with group=all. */
export function indexKeyOf(group: string): 'market_idx' | 'group_idx' | null {
  if (group === 'all') return null;
  return group === 'market' ? 'market_idx' : 'group_idx';
}

/** The markets or groups that a page's indexes point at; nothing with group=all. */
export function slotsOf(page: RemotePage): readonly (RemoteMarket | RemoteGroup)[] {
  if (page.group === 'all') return [];
  return page.group === 'market' ? page.markets : page.groups;
}

/**
 * Checks a reply. Fields that are not in the schema are kept.
 * @throws PageFault
 */
export function checkedPage(received: unknown): RemotePage {
  const fault = findFault(received);
  if (fault !== null) {
    throw new PageFault(`${fieldOf(fault.path)}: ${fault.expected ?? 'expected a value'}`);
  }
  const page = received as RemotePage;
  page.snapshots.forEach((snapshot, s) => checkSnapshot(page, snapshot, `snapshots[${s}]`));
  return page;
}

/** Checks what the schema cannot express: lengths of columns, and bounds of indexes. */
function checkSnapshot(page: RemotePage, snapshot: RemoteSnapshot, name: string): void {
  const { length } = snapshot.bin;
  for (const column of ['support_usd', 'resistance_usd'] as const) {
    expect(snapshot[column].length === length, `${name}.${column}`, `${length} numbers`);
  }
  const key = indexKeyOf(page.group);
  if (key === null) return;
  const index = snapshot[key] ?? [];
  const slots = slotsOf(page).length;
  const fits = index.length === length && index.every((i) => i >= 0 && i < slots);
  expect(fits, `${name}.${key}`, `${length} indexes below ${slots}`);
}

function expect(condition: boolean, name: string, expected: string): void {
  if (!condition) throw new PageFault(`${name}: expected ${expected}`);
}
