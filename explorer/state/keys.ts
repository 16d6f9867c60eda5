/** Keys for the whole page: text boxes and what is open come first. */

const TEXT_BOXES = 'input:not([type=range], [type=checkbox]), textarea';

/** Whether a key belongs to the field with the focus. */
export function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.matches(`${TEXT_BOXES}, select`);
}

/** Calls back on Escape if nothing is open; in a text box, Escape only leaves it. @returns a function that stops this */
export function onEscape(work: () => void): () => void {
  const key = (event: KeyboardEvent): void => {
    const { target } = event;
    const isHandled = event.defaultPrevented || document.querySelector('dialog[open]') !== null;
    if (event.key !== 'Escape' || isHandled) return;
    if (target instanceof HTMLElement && target.matches(TEXT_BOXES)) target.blur();
    else work();
  };
  // What is open listens at the document.
  window.addEventListener('keydown', key);
  return () => window.removeEventListener('keydown', key);
}
