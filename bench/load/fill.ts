/** A store for bots and replay clients. */
import { PAGE_A } from '../data/pages.js';
import { fillStore, openStore } from '../store.js';
import { fillBots } from './collector.js';

/** @returns a key without limits */
export async function fillForLoad(
  place: { directory: string; folder: string },
  { pageTokens, botTokens }: { pageTokens: number; botTokens: number },
  fromS: number,
): Promise<string> {
  const store = await openStore(place.directory);
  await fillStore(store, PAGE_A, pageTokens);
  const unlimited = { requestsPerMinute: Infinity, monthlyQuota: Infinity };
  const { key } = await store.createKey({ tier: 'enterprise', name: 'bench', ...unlimited });
  await store.close();
  await fillBots({ ...place, tokens: botTokens, fromS });
  return key;
}
