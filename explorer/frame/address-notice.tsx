/** Names the invalid parts of the page's address, and removes them from it. */
import { useEffect, useState } from 'preact/hooks';
import {
  type BoardParameters,
  type Fault,
  faultsOf,
  isBoard,
  withoutFaults,
} from '../state/address-faults.js';
import { arrival, show, view } from '../state/session.js';
import { type View, viewOf } from '../state/url.js';
import { useValue } from '../state/use-value.js';
import type { BoardSpec } from '../views/boards/spec.js';

export function AddressNotice() {
  const arrived = useValue(arrival);
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  useEffect(() => {
    let isObsolete = false;
    const check = async (): Promise<void> => {
      if (!arrived.hash.includes('?')) return setFaults([]);
      const found = faultsOf(arrived.hash, await boardAt(arrived.hash));
      if (isObsolete) return;
      setFaults(found);
      if (found.length > 0) show(withoutFaults(view.value, found), 'replace');
    };
    // Rejects only if a board's code cannot be loaded, which the page reports elsewhere.
    check().catch(() => undefined);
    return () => {
      isObsolete = true;
    };
  }, [arrived]);
  return (
    <div role="status">
      {faults.length > 0 && (
        <p class="trouble">
          <strong>Part of the address was ignored.</strong>
          {faults.map(({ name, value, expected }) => (
            <span key={name}>
              {' '}
              <code>
                {name}={value}
              </code>
              : expected {expected}.
            </span>
          ))}
          <button type="button" class="plain" onClick={() => setFaults([])}>
            Close
          </button>
        </p>
      )}
    </div>
  );
}

/** The parameters of the board at an address; null if the address is not a board's. */
async function boardAt(hash: string): Promise<BoardParameters | null> {
  const shown: View = viewOf(hash);
  if (!isBoard(shown)) return null;
  const [{ BOARD_SPECS }, { choicesOf }, { scoreColumns }] = await Promise.all([
    import('../views/boards/boards.js'),
    import('../views/boards/spec.js'),
    import('../views/boards/standing.js'),
  ]);
  const spec = BOARD_SPECS[shown.name] as BoardSpec<unknown>;
  const own = spec.columns(choicesOf(spec, shown), []);
  const { isOfToken = false } = spec;
  const isScored = shown.name === 'scores' || isOfToken;
  const added = isScored ? [] : scoreColumns(new Map(), spec.tokenOf);
  const sortable = [...own, ...added].filter(({ by }) => by !== undefined);
  return { choices: spec.choices, columns: sortable.map(({ name }) => name), isOfToken };
}
