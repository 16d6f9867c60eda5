/** Repr-Digest: a digest of a page's bytes as sent, for clients that ask for one (RFC 9530). */
import { webcrypto } from 'node:crypto';
import type { Headers } from '../http/errors.js';

/** Names of the header's algorithms, the one to take of equals first, as Web Crypto calls them. */
const ALGORITHMS = { 'sha-256': 'SHA-256', 'sha-512': 'SHA-512' } as const;
type Algorithm = keyof typeof ALGORITHMS;

/**
 * The algorithm that a Want-Repr-Digest header prefers of those there are: `sha-256=1, sha-512=3`.
 *
 * @param wanted the header, '' where there is none
 * @returns null where it wants none of them; what is malformed in it is passed over
 */
export function wantedAlgorithm(wanted: string): Algorithm | null {
  const preferences = new Map<string, number>();
  for (const member of wanted.split(',')) {
    const parts = /^\s*([a-z0-9-]+)\s*=\s*(10|[0-9])\s*$/.exec(member);
    if (parts !== null) preferences.set(parts[1], Number(parts[2]));
  }
  let chosen: Algorithm | null = null;
  let greatest = 0;
  for (const algorithm of Object.keys(ALGORITHMS) as Algorithm[]) {
    const preference = preferences.get(algorithm) ?? 0;
    if (preference > greatest) {
      chosen = algorithm;
      greatest = preference;
    }
  }
  return chosen;
}

/** The header for a body that a Want-Repr-Digest header asks for; made beside the event loop. */
export async function reprDigestHeaders(wanted: string, body: Uint8Array): Promise<Headers> {
  const algorithm = wantedAlgorithm(wanted);
  if (algorithm === null) return [];
  const digest = await webcrypto.subtle.digest(ALGORITHMS[algorithm], body);
  return [['Repr-Digest', `${algorithm}=:${Buffer.from(digest).toString('base64')}:`]];
}
