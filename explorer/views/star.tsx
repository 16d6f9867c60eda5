/** A button that marks a token as a favourite. */
import { Icon } from '../frame/icon.js';
import { favourites, toggleFavourite } from '../state/favourites.js';
import { useValue } from '../state/use-value.js';

/** @param props.name of the token */
export function Star({ address, name }: { address: string; name: string }) {
  const isMarked = useValue(favourites).includes(address);
  const label = `${name} is a favourite`;
  return (
    <button
      type="button"
      class="tool icon-only star"
      aria-pressed={isMarked}
      aria-label={label}
      title={isMarked ? 'Favourite; press to remove it' : 'Add to the favourites'}
      onClick={() => toggleFavourite(address)}
    >
      <Icon name="star" />
    </button>
  );
}
