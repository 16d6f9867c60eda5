/** What can be pressed or chosen on the page, so that the palette finds whatever has a button. */
import { BUTTON } from './command.js';

export interface PageButton {
  label: string;
  /** What it belongs to. */
  note: string;
  press: () => void;
}

/** Rows of a board have the same buttons again and again; tokens and venues have commands of their own. */
const LEFT_OUT = 'tbody, dialog, .venues, [role=listbox], .popover .panel, [hidden]';

/** All buttons and choices in their order on the page, each label of a group once. */
export function pageButtons(root: ParentNode = document): PageButton[] {
  const found = [...root.querySelectorAll<HTMLElement>('button, summary, select, a.tool')]
    .filter((one) => one.closest(LEFT_OUT) === null && !one.matches(':disabled'))
    .filter((one) => one.getClientRects().length > 0)
    .flatMap((one) => (one instanceof HTMLSelectElement ? optionsOf(one) : [buttonOf(one)]));
  const seen = new Set<string>();
  return found.filter(({ label, note }) => {
    const name = `${label} ${note}`;
    const isNew = label !== '' && !seen.has(name);
    seen.add(name);
    return isNew;
  });
}

function buttonOf(element: HTMLElement): PageButton {
  return {
    label: element.getAttribute('aria-label') ?? textOf(element),
    note: groupOf(element),
    press: () => {
      element.focus();
      element.click();
    },
  };
}

function optionsOf(select: HTMLSelectElement): PageButton[] {
  const name = select.getAttribute('aria-label') ?? textOf(select.labels?.[0]?.firstElementChild);
  return [...select.options].map((option) => ({
    label: `${name} ${option.text}`,
    note: groupOf(select),
    press: () => {
      select.value = option.value;
      select.dispatchEvent(new Event('change', { bubbles: true }));
    },
  }));
}

/** Texts of the element with a space between them. */
function textOf(element: Element | null | undefined): string {
  if (element === null || element === undefined) return '';
  const texts: string[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() !== null) texts.push(walker.currentNode.nodeValue ?? '');
  return texts.join(' ').replaceAll(/\s+/g, ' ').trim();
}

/** The name of the group or card around the element. */
function groupOf(element: Element): string {
  const group = element.parentElement?.closest('[role=group], section, aside, article');
  const name = group?.getAttribute('aria-label');
  const titled = group?.getAttribute('aria-labelledby');
  const text = name ?? (titled ? document.getElementById(titled)?.textContent : null);
  return text ?? BUTTON;
}
