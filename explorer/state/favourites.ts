/** The tokens marked by this browser's user. */
import { Value } from './value.js';

const ITEM = 'fathom.favourites';
const ONLY_ITEM = 'fathom.favourites-only';
/** Most tokens that are kept; the earliest marked are removed first. */
const MAX_FAVOURITES = 200;

/** Addresses in the order in which they were marked. */
export const favourites = new Value<readonly string[]>([]);

/** Whether the boards of this tab show only favourites. No address says so: other people have other favourites. */
export const onlyFavourites = new Value(false);

/** Reads what earlier tabs of this browser marked, and follows other tabs. */
export function restoreFavourites(): void {
  favourites.set(listOf(localStorage.getItem(ITEM)));
  onlyFavourites.set(sessionStorage.getItem(ONLY_ITEM) !== null);
  window.addEventListener('storage', ({ key, newValue }) => {
    if (key === ITEM) favourites.set(listOf(newValue));
  });
}

/** Shows only favourites on the boards of this tab, or all rows. */
export function showOnlyFavourites(isOnly: boolean): void {
  if (isOnly) sessionStorage.setItem(ONLY_ITEM, 'true');
  else sessionStorage.removeItem(ONLY_ITEM);
  onlyFavourites.set(isOnly);
}

/** Marks a token, or removes its mark. */
export function toggleFavourite(address: string): void {
  const rest = favourites.value.filter((one) => one !== address);
  const isNew = rest.length === favourites.value.length;
  const next = isNew ? [...rest, address].slice(-MAX_FAVOURITES) : rest;
  localStorage.setItem(ITEM, next.join(' '));
  favourites.set(next);
}

function listOf(text: string | null): string[] {
  return (text ?? '')
    .split(' ')
    .filter((one) => one !== '')
    .slice(-MAX_FAVOURITES);
}
