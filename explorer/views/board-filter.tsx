/** Chooses which rows of a board are shown: those with a text, and favourites. */
import { Icon } from '../frame/icon.js';
import { onlyFavourites, showOnlyFavourites } from '../state/favourites.js';
import { show } from '../state/session.js';
import type { BoardView } from '../state/url.js';
import { useValue } from '../state/use-value.js';

interface BoardFilterProps {
  view: BoardView;
  /** Whether its rows are tokens. */
  hasFavourites: boolean;
}

export function BoardFilter({ view, hasFavourites }: BoardFilterProps) {
  const isOnly = useValue(onlyFavourites);
  return (
    <div class="choice-group">
      <input
        type="search"
        class="find"
        aria-label={`Show rows with this ${hasFavourites ? 'symbol, name or address' : 'address or platform'}`}
        placeholder="Filter rows"
        spellcheck={false}
        autocomplete="off"
        value={view.find}
        onInput={(event) => show({ ...view, find: event.currentTarget.value }, 'replace')}
      />
      {hasFavourites && (
        <button
          type="button"
          class="tool star"
          aria-pressed={isOnly}
          onClick={() => showOnlyFavourites(!isOnly)}
        >
          <Icon name="star" />
          Favourites
        </button>
      )}
    </div>
  );
}
