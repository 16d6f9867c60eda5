/** Asks about several tokens at once. */
import type { AddressClient } from '../../client/address-client.js';
import { FathomError } from '../../client/index.js';
import { shortAddress } from '../state/format.js';
import { messageOf } from '../state/session.js';

export interface OfTokens<T> {
  found: T[];
  /** Addresses that the server refuses, or that it does not know. */
  refused: { address: string; why: string }[];
}

type Named<T> = T & { label: string };

/** @throws FathomError if the server fails */
export async function ofTokens<T>(
  tokens: readonly string[],
  client: AddressClient,
  signal: AbortSignal,
  ask: (address: string) => Promise<T>,
): Promise<OfTokens<Named<T>>> {
  const all: OfTokens<Named<T>> = { found: [], refused: [] };
  const answers = await Promise.allSettled(
    tokens.map(async (address) => {
      const [label, found] = await Promise.all([labelOf(address, client, signal), ask(address)]);
      return label === null ? null : { ...found, label };
    }),
  );
  for (const [i, answer] of answers.entries()) {
    const [address, refuse] = [tokens[i], (why: string) => all.refused.push({ address, why })];
    if (answer.status === 'fulfilled') {
      if (answer.value === null) refuse('this server knows no token with this address');
      else all.found.push(answer.value);
      continue;
    }
    const reason = answer.reason as unknown;
    if (!(reason instanceof FathomError) || reason.status !== 400) throw reason;
    refuse(messageOf(reason));
  }
  return all;
}

/** Most tokens whose names are kept. */
const MAX_LABELS = 50;
/** Names of tokens, which do not change: each costs one request. */
const labels = new Map<string, string>();

/** What a token is called; null if the server knows nothing of it. */
async function labelOf(
  address: string,
  client: AddressClient,
  signal: AbortSignal,
): Promise<string | null> {
  const known = labels.get(address);
  if (known !== undefined) return known;
  const { symbol, data_time: dataTime } = await client.getScore({ address }, { signal });
  if (symbol === null) return dataTime === null ? null : shortAddress(address);
  labels.set(address, symbol);
  if (labels.size > MAX_LABELS) labels.delete([...labels.keys()][0]);
  return symbol;
}
