/** The title of the tab. */

/** @param what the page shows */
export function setTitle(what: string): void {
  document.title = `${what} \u2013 Fathom`;
}
