/** The compared tokens, which can be removed, and a search that adds one. */
import { Icon } from '../frame/icon.js';
import { Search } from '../frame/search.js';
import { type CompareView, hashOf, MAX_COMPARED, tokenView } from '../state/url.js';

interface ComparedTokensProps {
  tokens: readonly string[];
  labelOf: (address: string) => string;
  onChange: (part: Partial<CompareView>) => void;
}

export function ComparedTokens({ tokens, labelOf, onChange: change }: ComparedTokensProps) {
  return (
    <div class="compared">
      {tokens.map((address) => (
        <span key={address} class="chip compared-token">
          <a href={hashOf(tokenView(address))}>{labelOf(address)}</a>
          <button
            type="button"
            aria-label={`Remove ${labelOf(address)}`}
            title="Remove"
            onClick={() => change({ tokens: tokens.filter((one) => one !== address) })}
          >
            <Icon name="close" />
          </button>
        </span>
      ))}
      {tokens.length < MAX_COMPARED && (
        <Search
          id="compare-found"
          placeholder="Add a token"
          onChoose={(address) =>
            change({ tokens: [...new Set([...tokens, address])], parts: null })
          }
        />
      )}
    </div>
  );
}
