/** The title of the tab. */

/** @param what the page shows; null if nothing yet */
export function setTitle(what: string | null): void {
  document.title = what === null ? 'Fathom' : `${what} \u2013 Fathom`;
}
