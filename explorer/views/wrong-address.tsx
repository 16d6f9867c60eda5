/** An address that no token has: it may be the symbol or the name of one. */
import type { FathomError } from '../../client/index.js';
import { Failure } from '../frame/states.js';
import { shortAddress } from '../state/format.js';
import { useDocument } from '../state/load.js';
import { hashOf, tokenView } from '../state/url.js';

/** Tokens that are suggested at most. */
const SUGGESTIONS = 5;

export function WrongAddress({ address, error }: { address: string; error: FathomError }) {
  const { document: meant } = useDocument(
    `tokens like ${address}`,
    (client, signal) =>
      client.getTokens({ query: address, chain: 'all', limit: SUGGESTIONS }, { signal }),
    'never',
  );
  return (
    <>
      <Failure error={error} />
      {meant !== null && meant.tokens.length > 0 && (
        <section class="state" aria-label="Tokens of this name">
          <p>Is it one of these?</p>
          <ul class="places">
            {meant.tokens.map((one) => (
              <li key={one.address}>
                <a href={hashOf(tokenView(one.address))}>
                  {one.symbol ?? shortAddress(one.address)} {one.name}
                </a>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
