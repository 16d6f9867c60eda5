/** Chooses which rows of a board are shown: those with a text, and favourites. */
import { Icon } from '../frame/icon.js';
import { show } from '../state/session.js';
import type { BoardView } from '../state/url.js';

export function BoardFilter({ view }: { view: BoardView }) {
  return (
    <div class="choice-group">
      <input
        type="search"
        class="find"
        aria-label="Show rows with this symbol, name or address"
        placeholder="Filter rows"
        spellcheck={false}
        autocomplete="off"
        value={view.find}
        onInput={(event) => show({ ...view, find: event.currentTarget.value }, 'replace')}
      />
      <button
        type="button"
        class="tool star"
        aria-pressed={view.favourites}
        onClick={() => show({ ...view, favourites: !view.favourites }, 'replace')}
      >
        <Icon name="star" />
        Favourites
      </button>
    </div>
  );
}
