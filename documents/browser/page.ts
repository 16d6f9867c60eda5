/** A document's page: its contents on a narrow screen, the theme, the heading in sight, and the search. */
import './page.css';
import { startSearch } from './search.js';

// Swagger UI was here once: links to its operations continue to work.
if (location.hash.startsWith('#/')) location.replace(`/docs/api-reference${location.hash}`);

const element = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;

const menu = element<HTMLButtonElement>('menu');
const contents = element('contents');
menu.addEventListener('click', () => {
  const isOpen = contents.classList.toggle('open');
  menu.ariaExpanded = String(isOpen);
});

const theme = element<HTMLButtonElement>('theme');
const root = document.documentElement;
const nameTheme = () => {
  theme.textContent = root.dataset.theme === 'dark' ? 'Light' : 'Dark';
  theme.ariaLabel = `${theme.textContent} theme`;
};
theme.addEventListener('click', () => {
  localStorage.setItem('fathom.theme', root.dataset.theme === 'dark' ? 'light' : 'dark');
  dispatchEvent(new Event('fathom-theme'));
});
new MutationObserver(nameTheme).observe(root, { attributeFilter: ['data-theme'] });
nameTheme();

/** Marks the outline's link to the last heading that has come in sight. */
function followHeadings(): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.outline a')];
  const headings = links.map((link) => document.getElementById(link.hash.slice(1)));
  const mark = () => {
    const passed = headings.filter(
      (heading) => (heading?.getBoundingClientRect().top ?? 1e9) < 120,
    );
    links.forEach((link, i) => {
      if (i === passed.length - 1) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    });
    const current = links[passed.length - 1];
    const list = document.querySelector('.outline');
    if (current === undefined || list === null) return;
    const { top, bottom } = current.getBoundingClientRect();
    const around = list.getBoundingClientRect();
    if (top < around.top || bottom > around.bottom) list.scrollTop += top - around.top - 80;
  };
  let isWaiting = false;
  addEventListener(
    'scroll',
    () => {
      if (isWaiting) return;
      isWaiting = true;
      requestAnimationFrame(() => {
        isWaiting = false;
        mark();
      });
    },
    { passive: true },
  );
  mark();
}
followHeadings();

/** Gives each block of code a button that copies it. */
function addCopyButtons(): void {
  for (const code of document.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    const label = (text: string) => {
      button.textContent = text;
    };
    label('Copy');
    button.addEventListener('click', () => {
      const text = code.querySelector('code')?.textContent ?? '';
      navigator.clipboard.writeText(`${text}\n`).then(
        () => label('Copied'),
        () => label('Not allowed'),
      );
    });
    button.addEventListener('blur', () => label('Copy'));
    code.append(button);
  }
}
// Browsers offer the clipboard only to pages over HTTPS, or of this machine.
if (isSecureContext) addCopyButtons();

const here = contents.querySelector<HTMLElement>('[aria-current]');
// Not scrollIntoView, which would move the page, too.
if (here !== null) contents.scrollTop = here.offsetTop - contents.clientHeight / 2;

startSearch({
  input: element<HTMLInputElement>('search'),
  found: element('found'),
  count: element('count'),
  results: element('results'),
  textsAt: document.body.dataset.search ?? '',
});
