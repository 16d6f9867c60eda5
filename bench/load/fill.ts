/** A store for bots, replay clients, and clients that request a long history. */
import { encodeRuns } from '../../compute/segment/rewrite.js';
import { benchAddress, PAGE_A, tokenHistory } from '../data/pages.js';
import { commitFrames, makeStore, openStore } from '../store.js';
import { fillBots } from './collector.js';

/** Index of the token with the long history, after those with pages. */
const LONG_INDEX = 1000;
export const LONG_TOKEN = benchAddress(LONG_INDEX);
const LONG_SHAPE = { name: 'long', snapshots: 288, markets: 2, cells: 4 };
/** 300,000 of them, with their gaps, take 353 days. */
const LONG_EVERY_S = 100;
const SNAPSHOTS_PER_GAP = 300;
const GAP_S = 500;

/** @returns a key without limits */
export async function fillForLoad(
  place: { directory: string; folder: string },
  { pageTokens, botTokens }: { pageTokens: number; botTokens: number },
  fromS: number,
): Promise<string> {
  const { key } = await makeStore(place.directory, PAGE_A, pageTokens);
  await fillBots({ ...place, tokens: botTokens, fromS });
  return key;
}

/**
 * Adds the token whose plans and coverage are requested.
 * @param endS the last snapshot's time
 */
export async function fillLongHistory(
  directory: string,
  snapshots: number,
  endS: number,
): Promise<void> {
  const { run, markets } = tokenHistory(LONG_SHAPE, snapshots, LONG_INDEX);
  const { chain, address, tier } = run;
  const ageS = (age: number): number =>
    age * LONG_EVERY_S + Math.floor(age / SNAPSHOTS_PER_GAP) * GAP_S;
  const t = Uint32Array.from(run.t, (_, s) => endS - ageS(snapshots - 1 - s));
  const { segments } = encodeRuns({ parts: [{ run: { ...run, t }, markets }], mode: 'replace' });
  const store = await openStore(directory);
  try {
    const frame = { kind: 'segment', chain, address, tier, markets } as const;
    await commitFrames(
      store,
      segments.map((segment) => ({ ...frame, segment })),
    );
    await store.settled();
  } finally {
    await store.close();
  }
}
