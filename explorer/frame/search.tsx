/** Finds tokens by symbol, name or address. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FoundToken } from '../../client/index.js';
import { favourites } from '../state/favourites.js';
import { age, price, shortAddress } from '../state/format.js';
import { isTyping } from '../state/keys.js';
import { useDocument, useNowS } from '../state/load.js';
import { key as keyValue, show } from '../state/session.js';
import { tokenView } from '../state/url.js';
import { useValue } from '../state/use-value.js';
import { Icon } from './icon.js';

/** The search starts after a pause in typing. */
const PAUSE_MS = 150;
const MAX_FOUND = 12;

interface SearchProps {
  /** The id of the list of results, unique on the page. */
  id?: string;
  placeholder?: string;
  /** By default, shows the token. */
  onChoose?: (address: string) => void;
}

export function Search({ id = 'found', placeholder = 'Find a token', onChoose }: SearchProps) {
  /** Whether this is the search in the header, which the key `/` focuses. */
  const isMain = onChoose === undefined;
  const hasKey = useValue(keyValue) !== null;
  const marked = useValue(favourites);
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const [query, setQuery] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(0);
  const nowS = useNowS();
  const { document: found, isLoading } = useDocument(
    isOpen ? `tokens ${query}` : null,
    (client, signal) =>
      client.getTokens(
        { limit: MAX_FOUND, chain: 'all', ...(query === '' ? {} : { query }) },
        { signal },
      ),
    'never',
  );
  const { document: more, isLoading: isLooking } = useDocument(
    isOpen && query !== '' ? `tokens with ${query}` : null,
    async (client) => {
      const { tokensWith, joined } = await import('./known-tokens.js');
      const inside = await tokensWith(client, query);
      return (first: readonly FoundToken[]) => joined(first, inside, MAX_FOUND);
    },
    'never',
  );
  useEffect(() => {
    const timer = setTimeout(() => setQuery(text.trim()), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => setChosen(0), [query]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!isMain || event.key !== '/' || isTyping(event) || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      input.current?.focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);

  // Enter may be pressed before the results arrive.
  const [isEntered, setEntered] = useState(false);
  const first = found?.tokens ?? [];
  const tokens = more?.(first) ?? first;
  const isSearching = isLoading || (first.length === 0 && isLooking && query !== '');
  const isFound = !isSearching && query === text.trim();
  const go = (at: number): void => {
    const token = tokens[at];
    if (token === undefined) return;
    setOpen(false);
    setText('');
    setQuery('');
    if (isMain) input.current?.blur();
    if (onChoose === undefined) show(tokenView(token.address));
    else onChoose(token.address);
  };
  useEffect(() => {
    if (!isEntered || !isFound) return;
    setEntered(false);
    go(chosen);
  }, [isEntered, isFound]);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setChosen((chosen + step + tokens.length) % Math.max(1, tokens.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      setOpen(true);
      setEntered(true);
    } else if (event.key === 'Escape') {
      setOpen(false);
      setText('');
      setQuery('');
      input.current?.blur();
    }
  };
  return (
    <div
      class="search"
      role="search"
      aria-label={placeholder}
      onFocusOut={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOpen(false);
      }}
    >
      <Icon name="search" />
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label="Find a token by symbol, name or address"
        aria-expanded={isOpen}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && tokens.length > 0 ? `${id}-${chosen}` : undefined}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        disabled={!hasKey}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setEntered(false);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onKeyDown={onKeyDown}
      />
      {isMain && <kbd aria-hidden="true">/</kbd>}
      <ul id={id} role="listbox" aria-label="Tokens" hidden={!isOpen}>
        {tokens.map((token, at) => (
          <li
            key={token.address}
            id={`${id}-${at}`}
            role="option"
            aria-selected={at === chosen}
            onPointerMove={() => setChosen(at)}
            onPointerDown={(event) => {
              event.preventDefault();
              go(at);
            }}
          >
            <b>
              {token.symbol ?? shortAddress(token.address)}
              {marked.includes(token.address) && <span title="Favourite"> ★</span>}
            </b>
            <span class="name">
              {token.name ?? shortAddress(token.address)}
              {token.chain === 'evmchain' && <i class="chip">EVM</i>}
            </span>
            <span class="figure">{price(token.price_usd)}</span>
            <span class="figure score">{token.service_score?.toFixed(1) ?? ''}</span>
            <span class="age">
              {token.last_refresh === null ? 'no depth' : age(nowS - token.last_refresh)}
            </span>
          </li>
        ))}
        {tokens.length === 0 && (
          <li class="none" role="option" aria-selected={false} aria-disabled={true}>
            {isSearching ? 'Searching' : `No token is called '${query}'`}
          </li>
        )}
      </ul>
    </div>
  );
}
