/** Chooses which rows of a board are shown: those with a text, and favourites. */
import { Icon } from '../frame/icon.js';
import { onlyFavourites, showOnlyFavourites } from '../state/favourites.js';
import { show } from '../state/session.js';
import type { BoardView } from '../state/url.js';
import { useValue } from '../state/use-value.js';

export function BoardFilter({ view }: { view: BoardView }) {
  const isOnly = useValue(onlyFavourites);
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
        aria-pressed={isOnly}
        onClick={() => showOnlyFavourites(!isOnly)}
      >
        <Icon name="star" />
        Favourites
      </button>
    </div>
  );
}
