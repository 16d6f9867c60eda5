/** The search box: results as one types, by keyboard or pointer. The texts are fetched when it is first used. */
import type { SearchEntry } from '../pages.js';
import { type Found, indexOf, MAX_RESULTS, type SearchIndex } from './index.js';

interface Parts {
  input: HTMLInputElement;
  /** What opens below the box. */
  found: HTMLElement;
  count: HTMLElement;
  results: HTMLElement;
  /** Address of the texts. */
  textsAt: string;
}

export function startSearch({ input, found, count, results, textsAt }: Parts): void {
  let index: Promise<SearchIndex> | null = null;
  let isIndexed = false;
  /** Of the results; -1: none. */
  let chosen = -1;
  /** Results of an earlier text that come late are not shown. */
  let latest = 0;

  function whenIndexed(): Promise<SearchIndex> {
    index ??= fetch(textsAt).then(async (reply) => {
      if (!reply.ok) throw new Error(`${reply.status}`);
      const made = indexOf((await reply.json()) as SearchEntry[]);
      isIndexed = true;
      return made;
    });
    // The next key tries again.
    index.catch(() => (index = null));
    return index;
  }

  const options = () => [...results.children] as HTMLElement[];

  function choose(next: number): void {
    const all = options();
    chosen = all.length === 0 ? -1 : (next + all.length) % all.length;
    all.forEach((option, i) => (option.ariaSelected = String(i === chosen)));
    if (chosen < 0) input.removeAttribute('aria-activedescendant');
    else {
      input.setAttribute('aria-activedescendant', all[chosen].id);
      const { offsetTop, offsetHeight } = all[chosen];
      // Not scrollIntoView, which would move the page, too.
      if (offsetTop < results.scrollTop) results.scrollTop = offsetTop;
      const below = offsetTop + offsetHeight - results.clientHeight;
      if (below > results.scrollTop) results.scrollTop = below;
    }
  }

  function open(isOpen: boolean): void {
    found.hidden = !isOpen;
    input.ariaExpanded = String(isOpen);
    if (!isOpen) choose(-1);
  }

  async function show(): Promise<void> {
    const mine = ++latest;
    const query = input.value.trim();
    if (query === '') return close();
    if (!isIndexed) {
      count.textContent = 'Reading the documents…';
      open(true);
    }
    try {
      const list = (await whenIndexed()).find(query);
      if (mine !== latest) return;
      results.replaceChildren(...list.map(optionOf));
      count.textContent = said(list.length, query);
      chosen = -1;
      open(true);
      choose(list.length > 0 ? 0 : -1);
    } catch {
      results.replaceChildren();
      count.textContent = 'The texts did not arrive: type on to try again.';
      open(true);
    }
  }

  function close(): void {
    latest++;
    results.replaceChildren();
    open(false);
  }

  function go(option: HTMLElement | undefined): void {
    const address = option?.dataset.address;
    if (address === undefined) return;
    input.value = '';
    close();
    input.blur();
    location.assign(address);
  }

  input.addEventListener('focus', () => void whenIndexed().catch(() => undefined));
  input.addEventListener('input', () => void show());
  input.addEventListener('keydown', (event) => {
    const { key } = event;
    if (key === 'Escape') {
      if (input.value === '') input.blur();
      input.value = '';
      close();
    } else if (key === 'ArrowDown' || key === 'ArrowUp') {
      if (found.hidden) void show();
      else choose(chosen < 0 && key === 'ArrowUp' ? -1 : chosen + (key === 'ArrowDown' ? 1 : -1));
    } else if (key === 'Enter') go(options()[chosen]);
    else return;
    event.preventDefault();
  });
  results.addEventListener('pointerdown', (event) => {
    // The box keeps the focus, so that the list stays until the click.
    event.preventDefault();
  });
  results.addEventListener('click', ({ target }) =>
    go((target as HTMLElement).closest<HTMLElement>('[role=option]') ?? undefined),
  );
  input.addEventListener('blur', () => open(false));
  document.addEventListener('keydown', (event) => {
    const { target, key, ctrlKey, metaKey, altKey } = event;
    const isTyping = target instanceof HTMLElement && target.matches('input, textarea, select');
    if (key !== '/' || isTyping || ctrlKey || metaKey || altKey) return;
    event.preventDefault();
    input.focus({ preventScroll: true });
    input.select();
  });
}

function said(count: number, query: string): string {
  if (count === 0) return `Nothing about “${query}”`;
  if (count === MAX_RESULTS) return `The first ${MAX_RESULTS} results`;
  return count === 1 ? '1 result' : `${count} results`;
}

function optionOf({ page, anchor, titles, excerpt }: Found, i: number): HTMLElement {
  const option = document.createElement('li');
  option.id = `result-${i}`;
  option.role = 'option';
  option.dataset.address = `/docs${page === '' ? '' : `/${page}`}#${anchor}`;
  const place = document.createElement('span');
  place.className = 'place';
  place.textContent = titles.slice(0, -1).join(' › ');
  const title = document.createElement('strong');
  title.textContent = titles.at(-1) ?? '';
  const text = document.createElement('span');
  text.className = 'excerpt';
  for (const { text: piece, isFound } of excerpt) {
    if (!isFound) text.append(piece);
    else text.append(Object.assign(document.createElement('mark'), { textContent: piece }));
  }
  option.append(title, place, text);
  return option;
}
