/** Markdown as HTML, with GitHub's anchors, and as sections that can be searched. */
import { createRequire } from 'node:module';
import GithubSlugger from 'github-slugger';
import { Marked, type Token, type Tokens } from 'marked';

/** What is used of highlight.js, whose own types would bring those of browsers into all that imports this. */
interface Highlighter {
  getLanguage(name: string): object | undefined;
  registerAliases(alias: string, of: { languageName: string }): void;
  highlight(code: string, options: { language: string }): { value: string };
}

const highlighter = createRequire(import.meta.url)('highlight.js/lib/common') as Highlighter;
highlighter.registerAliases('ndjson', { languageName: 'json' });

export interface Heading {
  depth: number;
  /** Plain text. */
  title: string;
  anchor: string;
}

/** What is between two headings. */
export interface Section {
  /** The titles of the headings that it is below, from the document's on. */
  path: string[];
  anchor: string;
  /** Plain text. */
  text: string;
}

export interface Rendered {
  title: string;
  html: string;
  headings: Heading[];
  sections: Section[];
}

/** What the site has at a link's target. */
export interface Target {
  address: string;
  /** Of a document. */
  title?: string;
}

/**
 * @param resolve what the site has at a link's or picture's target; null: nothing, and the link's text stands without a
 * link
 */
export function render(text: string, resolve: (target: string) => Target | null): Rendered {
  const slugger = new GithubSlugger();
  const headings: Heading[] = [];
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth }) {
        const title = plainText(tokens);
        const anchor = slugger.slug(title);
        headings.push({ depth, title, anchor });
        const inner = this.parser.parseInline(tokens);
        return `<h${depth} id="${anchor}"><a class="anchor" href="#${anchor}">${inner}</a></h${depth}>\n`;
      },
      link({ href, tokens }) {
        const found = resolve(href);
        // Repositories show names of files; a reader of pages knows their titles.
        const isFileName = /^[\w/.-]+\.md$/.test(plainText(tokens));
        const inner =
          isFileName && found?.title !== undefined
            ? escapeHtml(found.title)
            : this.parser.parseInline(tokens);
        return found === null ? inner : `<a href="${escapeHtml(found.address)}">${inner}</a>`;
      },
      image({ href, text: alt }) {
        const found = resolve(href);
        if (found === null) throw new Error(`there is no picture ${href}`);
        const address = escapeHtml(found.address);
        return `<a class="picture" href="${address}"><img src="${address}" alt="${escapeHtml(alt)}" loading="lazy"></a>`;
      },
      // Wide ones scroll in themselves, which the keyboard must reach.
      code({ text: code, lang }) {
        const [language, name] = (lang ?? '').split(' ');
        const caption = name?.includes('.') ? `<figcaption>${escapeHtml(name)}</figcaption>` : '';
        return `<figure class="code">${caption}<pre tabindex="0" data-language="${escapeHtml(language)}"><code>${coloured(code, language)}</code></pre></figure>\n`;
      },
      table(token) {
        const row = (cells: Tokens.TableCell[], tag: string) =>
          `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`;
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return `<div class="table" tabindex="0" role="region" aria-label="Table"><table><thead>${row(token.header, 'th')}</thead>\n<tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const tokens = marked.lexer(text);
  const html = marked.parser(tokens);
  return {
    title: headings[0]?.title ?? '',
    html,
    headings,
    sections: sectionsOf(tokens, headings),
  };
}

/** Code as HTML, with classes for its parts if its language is known. */
function coloured(code: string, language: string): string {
  if (highlighter.getLanguage(language) === undefined) return escapeHtml(code);
  return highlighter.highlight(code, { language }).value;
}

/** A file that is not Markdown, as a page of its own. */
export function renderFile(name: string, text: string): Rendered {
  const html = `<h1 id="file">${escapeHtml(name)}</h1>\n<figure class="code"><pre tabindex="0"><code>${coloured(text, name.split('.').at(-1) ?? '')}</code></pre></figure>`;
  return { title: name, html, headings: [], sections: [] };
}

function sectionsOf(tokens: readonly Token[], headings: readonly Heading[]): Section[] {
  const sections: Section[] = [];
  const above: Heading[] = [];
  let next = 0;
  for (const token of tokens) {
    if (token.type === 'heading') {
      const heading = headings[next++];
      // The document's title is above all, though its parts may have headings of the same level.
      while (above.length > 1 && above[above.length - 1].depth >= heading.depth) above.pop();
      above.push(heading);
      sections.push({ path: above.map(({ title }) => title), anchor: heading.anchor, text: '' });
      continue;
    }
    const section = sections.at(-1);
    if (section === undefined) continue;
    section.text = `${section.text} ${plainText([token])}`.replace(/\s+/g, ' ').trim();
  }
  return sections;
}

/** The text that a reader sees of tokens. */
function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      // Examples of replies have every field's name, which a search would find before its explanation.
      if (token.type === 'html' || (token.type === 'code' && token.lang === 'json')) return '';
      if (token.type === 'table') {
        const { header, rows } = token as Tokens.Table;
        return [header, ...rows]
          .map((cells) => cells.map((cell) => plainText(cell.tokens)).join(' '))
          .join(' ');
      }
      if (token.type === 'list')
        return (token as Tokens.List).items.map((item) => plainText(item.tokens)).join(' ');
      const inner = 'tokens' in token ? token.tokens : undefined;
      if (inner !== undefined && inner.length > 0) return plainText(inner);
      return 'text' in token ? unescapeHtml(token.text as string) : '';
    })
    .join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (one) => ENTITIES[one]);

const unescapeHtml = (text: string) =>
  Object.entries(ENTITIES).reduce((out, [one, entity]) => out.replaceAll(entity, one), text);
