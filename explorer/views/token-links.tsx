/** Links to tokens that the reader may mean. */
import { shortAddress } from '../state/format.js';
import { useDocument } from '../state/load.js';

/** Most tokens suggested. */
const SUGGESTIONS = 5;

interface TokenLinksProps {
  title: string;
  /** What their symbol, name or address begins with; by default, the tokens with the best scores. */
  query?: string;
  hrefOf: (address: string) => string;
}

export function TokenLinks({ title, query, hrefOf }: TokenLinksProps) {
  const { document: meant } = useDocument(
    `tokens like ${query ?? ''}`,
    (client, signal) => client.getTokens({ query, chain: 'all', limit: SUGGESTIONS }, { signal }),
    'never',
  );
  // A token without depth has no score.
  const tokens = (meant?.tokens ?? []).filter(
    (one) => query !== undefined || one.service_score !== null,
  );
  if (tokens.length === 0) return null;
  return (
    <section class="token-links" aria-label={title}>
      <p>{title}</p>
      <ul class="places">
        {tokens.map((one) => (
          <li key={one.address}>
            <a href={hrefOf(one.address)} title={one.address}>
              {one.symbol ?? shortAddress(one.address)} {one.name}
            </a>
            {one.chain === 'evmchain' && <i class="chip">EVM</i>}
          </li>
        ))}
      </ul>
    </section>
  );
}
