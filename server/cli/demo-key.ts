import type { IssuedKey, StoreOperations } from '../../storage/contract.js';

/** Name of the key that the demo prints; a new one takes its place at every start. */
export const DEMO_KEY_NAME = 'demo';

/** Makes a fresh demo key and revokes the ones before it. */
export async function renewDemoKey(store: StoreOperations): Promise<IssuedKey> {
  for (const { id, name, revokedAtS } of await store.listKeys()) {
    if (name === DEMO_KEY_NAME && revokedAtS === null) await store.revokeKey(id);
  }
  return store.createKey({
    tier: 'enterprise',
    name: DEMO_KEY_NAME,
    requestsPerMinute: null,
    monthlyQuota: null,
  });
}
