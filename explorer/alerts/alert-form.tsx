/** Adds an alert about the token that the tab showed last. */
import { useState } from 'preact/hooks';
import { shortAddress } from '../state/format.js';
import { useDocument } from '../state/load.js';
import { lastToken } from '../state/session.js';
import { useValue } from '../state/use-value.js';
import { amountOf } from '../views/amount.js';
import { kept, update } from './kept.js';
import { MAX_PCT, refusal } from './kept-text.js';
import { type Condition, KINDS, SIDES } from './rules.js';

const KIND_LABELS = { depth: 'Depth', score: 'Score', wall: 'Wall' } as const;
const SIDE_LABELS = { both: 'Both sides', support: 'Support', resistance: 'Resistance' } as const;
const SCORE_MAX = 100;

/** What is entered, as texts. */
interface Entry {
  kind: (typeof KINDS)[number];
  side: (typeof SIDES)[number];
  pct: string;
  amount: string;
}

export function AlertForm() {
  const all = useValue(kept);
  const address = useValue(lastToken)?.address ?? null;
  const [entry, setEntry] = useState<Entry>({ kind: 'depth', side: 'both', pct: '2', amount: '' });
  const [said, setSaid] = useState<string | null>(null);
  const { document: token } = useDocument(
    address === null ? null : `alerts about ${address}`,
    (client, signal) => client.getScore({ address: address ?? '' }, { signal }),
    'never',
  );
  if (address === null) return <p class="note">Open a token first: an alert is about one.</p>;
  const symbol = token?.symbol ?? null;
  const { kind } = entry;
  const change = (part: Partial<Entry>): void => {
    setEntry({ ...entry, ...part });
    setSaid(null);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    const condition = conditionOf(entry);
    const refused = typeof condition === 'string' ? condition : refusal(all, address);
    setSaid(refused);
    if (refused !== null || typeof condition === 'string') return;
    const rule = { ...condition, id: crypto.getRandomValues(new Uint32Array(2)).join('-') };
    update((now) => ({ ...now, rules: [...now.rules, { ...rule, address, symbol }] }));
    setEntry({ ...entry, amount: '' });
  };
  return (
    <form class="alerts-form" onSubmit={submit}>
      <div class="segments small" role="group" aria-label="What the alert is about">
        {KINDS.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === kind}
            onClick={() => change({ kind: one })}
          >
            {KIND_LABELS[one]}
          </button>
        ))}
      </div>
      <b>{symbol ?? shortAddress(address)}</b>
      {kind !== 'score' && (
        <label class="select">
          <span class="hidden">Side</span>
          <select
            value={entry.side}
            onChange={({ currentTarget: { value } }) =>
              change({ side: SIDES.find((one) => one === value) ?? 'both' })
            }
          >
            {SIDES.map((one) => (
              <option key={one} value={one}>
                {SIDE_LABELS[one]}
              </option>
            ))}
          </select>
        </label>
      )}
      {kind === 'depth' && (
        <label>
          within{' '}
          <input
            type="text"
            inputMode="decimal"
            class="short"
            aria-label="Percent from the price"
            value={entry.pct}
            onInput={({ currentTarget: { value } }) => change({ pct: value })}
          />
          %
        </label>
      )}
      <label>
        {kind === 'wall' ? 'a 1% step of at least ' : 'below '}
        <input
          type="text"
          inputMode="decimal"
          placeholder={kind === 'score' ? '80' : '1M'}
          aria-label={kind === 'score' ? 'Score' : 'USD'}
          aria-invalid={said !== null}
          value={entry.amount}
          onInput={({ currentTarget: { value } }) => change({ amount: value })}
        />
      </label>
      <button type="submit" class="tool">
        Add
      </button>
      <p class={said === null ? 'note' : 'note refusal'} role="status">
        {said ?? ABOUT[kind]}
      </p>
    </form>
  );
}

const ABOUT = {
  depth: 'Fires when the sum of all venues, perps included, falls below the amount.',
  score: 'Fires when the score of all chains, without perps, falls below the number.',
  wall: 'Fires when a 1% step reaches the amount, and when less than half of it is left there.',
} as const;

/** The condition, or what is wrong with it. */
function conditionOf({ kind, side, pct, amount }: Entry): Condition | string {
  if (kind === 'score') {
    const below = Number(amount);
    const isScore = amount.trim() !== '' && below > 0 && below <= SCORE_MAX;
    return isScore ? { kind, below } : `Expected a score above 0 and up to ${SCORE_MAX}`;
  }
  const usd = amountOf(amount);
  if (usd === null) return 'Expected an amount of USD such as 500000, 500K or 1.5M';
  if (kind === 'wall') return { kind, side, usd };
  const within = Number(pct);
  if (!(within >= 1 && within <= MAX_PCT)) {
    return `Expected 1 to ${MAX_PCT}%: the ladder has steps of 1%`;
  }
  return { kind, side, pct: within, belowUsd: usd };
}
