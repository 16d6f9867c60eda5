/** A store for bots and replay clients. */
import { PAGE_A } from '../data/pages.js';
import { makeStore } from '../store.js';
import { fillBots } from './collector.js';

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
