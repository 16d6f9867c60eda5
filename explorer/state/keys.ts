/** Keys of the whole page, which text boxes, menus and dialogs take first. */

const TEXT_BOXES = 'input:not([type=range], [type=checkbox]), textarea';

/** Whether a key belongs to the field with the focus. */
export function isTyping({ target }: KeyboardEvent): boolean {
  return target instanceof HTMLElement && target.matches(`${TEXT_BOXES}, select`);
}

/** Calls back on Escape, unless it closes a menu or dialog or leaves a text box. @returns a function that stops this */
export function onEscape(work: () => void): () => void {
  const key = (event: KeyboardEvent): void => {
    const { target } = event;
    const isHandled = event.defaultPrevented || document.querySelector('dialog[open]') !== null;
    if (event.key !== 'Escape' || isHandled) return;
    if (target instanceof HTMLElement && target.matches(TEXT_BOXES)) target.blur();
    else work();
  };
  // Open menus and dialogs listen on the document, so they handle the key before the window does.
  window.addEventListener('keydown', key);
  return () => window.removeEventListener('keydown', key);
}
