/** For an address that no token has: it may be a symbol, a name or the beginning of one, or mistyped. */
import type { FathomError } from '../../client/index.js';
import { Failure } from '../frame/states.js';
import { hashOf, tokenView } from '../state/url.js';
import { Places } from './places.js';
import { TokenLinks } from './token-links.js';

/** Longer texts are addresses; a mistyped address usually begins correctly. */
const LONGEST_NAME = 20;
const FIRST_LETTERS = 4;

/** For an address that the server refuses. */
export function WrongAddress({ address, error }: { address: string; error: FathomError }) {
  return (
    <Failure error={error}>
      <Suggestions address={address} />
    </Failure>
  );
}

/** For an address that could be a token's but of which the server has no depth. */
export function NoDepth({ address, isKnown }: { address: string; isKnown: boolean }) {
  return (
    <div class="state empty" role="status">
      <strong>
        {isKnown ? 'No depth of this token yet' : 'This server knows no token with this address'}
      </strong>
      {!isKnown && (
        <p>
          <code>{address}</code>
        </p>
      )}
      <p>
        {isKnown ? 'Its' : 'If the address is right, its'} depth appears here once the server
        receives a snapshot. Press / to find another token.
      </p>
      {!isKnown && <Suggestions address={address} />}
      <TokenLinks title="Tokens with the best scores:" hrefOf={(one) => hashOf(tokenView(one))} />
      <p>Or go to:</p>
      <Places />
    </div>
  );
}

function Suggestions({ address }: { address: string }) {
  const query = address.length > LONGEST_NAME ? address.slice(0, FIRST_LETTERS) : address;
  return (
    <TokenLinks
      title="Is it one of these?"
      query={query}
      hrefOf={(one) => hashOf(tokenView(one))}
    />
  );
}
