/** Asks about several tokens at once. */
import { FathomError } from '../../client/index.js';
import { messageOf } from '../state/session.js';

export interface OfTokens<T> {
  found: T[];
  /** Addresses that the server refuses. */
  refused: { address: string; why: string }[];
}

/** @throws FathomError if the server refuses every token, or fails */
export async function ofTokens<T>(
  tokens: readonly string[],
  ask: (address: string) => Promise<T>,
): Promise<OfTokens<T>> {
  const all: OfTokens<T> = { found: [], refused: [] };
  const answers = await Promise.allSettled(tokens.map(ask));
  for (const [i, answer] of answers.entries()) {
    if (answer.status === 'fulfilled') {
      all.found.push(answer.value);
      continue;
    }
    const reason = answer.reason as unknown;
    const isRefused = reason instanceof FathomError && reason.status === 400;
    if (!isRefused || tokens.length === 1) throw reason;
    all.refused.push({ address: tokens[i], why: messageOf(reason) });
  }
  return all;
}
