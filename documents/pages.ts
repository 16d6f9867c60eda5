/** A plugin of Vite that adds the pages, their pictures and the texts that the search reads to the build. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Plugin, Rollup } from 'vite';
import {
  escapeHtml,
  type Heading,
  render,
  type Rendered,
  renderFile,
  type Target,
} from './render.js';
import { findSources, pageName, type Part, partsOf, type Source } from './sources.js';

/** One entry of the texts that the search reads: page, anchor, titles, text. */
export type SearchEntry = readonly [page: string, anchor: string, path: string[], text: string];

const BASE = '/docs/';
export const REFERENCE = 'api-reference';
const addressOf = (name: string) => (name === '' ? '/docs' : `${BASE}${name}`);

/** Files that the build has made, by what the pages load of them. */
interface Built {
  theme: string;
  page: string;
  reference: string;
  styles: string;
  referenceStyles: string;
  search: string;
  icon: string;
  swagger: string;
  swaggerStyles: string;
}

export function documentPages(root: string): Plugin {
  return {
    name: 'document-pages',
    buildStart() {
      for (const { file } of findSources(root)) this.addWatchFile(path.join(root, file));
    },
    generateBundle(_, bundle) {
      const emit = (name: string, source: string | Uint8Array) =>
        BASE + this.getFileName(this.emitFile({ type: 'asset', name, source }));
      const sources = findSources(root);
      const site = new Site(root, sources, emit);
      const search = emit('search.json', JSON.stringify(site.searchEntries()));
      const icon = emit('icon.svg', readFileSync(path.join(root, 'explorer/icon.svg')));
      const swagger = emit('swagger-ui.js', swaggerFile('swagger-ui-bundle.js'));
      const swaggerStyles = emit('swagger-ui.css', swaggerFile('swagger-ui.css'));
      this.emitFile({ type: 'asset', fileName: SWAGGER_LICENSE, source: swaggerLicense() });
      const built = { ...scriptsOf(bundle), search, icon, swagger, swaggerStyles };
      for (const [name, html] of site.pages(built)) {
        const fileName = `${name === '' ? 'index' : name}.html`;
        this.emitFile({ type: 'asset', fileName, source: html });
      }
    },
  };
}

/** The script's first line names it. */
const SWAGGER_LICENSE = 'swagger-ui-bundle.js.LICENSE.txt';

/**
 * A file of Swagger UI. The build has copies, because its package brings @scarf/scarf, which reports installations:
 * who installs Fathom gets neither.
 */
function swaggerFile(name: string): string {
  const manifest = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
  return readFileSync(path.join(path.dirname(manifest), name), 'utf8');
}

/** Its own terms, and those of what its script contains. */
const swaggerLicense = (): string =>
  ['NOTICE', 'LICENSE', SWAGGER_LICENSE].map(swaggerFile).join('\n');

function scriptsOf(bundle: Rollup.OutputBundle) {
  const scriptOf = (name: string) => {
    const found = Object.values(bundle).find(
      (one) => one.type === 'chunk' && one.isEntry && one.name === name,
    );
    if (found === undefined) throw new Error(`the build has no ${name}`);
    return found as Rollup.OutputChunk;
  };
  const stylesOf = (name: string) => {
    const [file] = scriptOf(name).viteMetadata?.importedCss ?? [];
    if (file === undefined) throw new Error(`${name} imports no styles`);
    return BASE + file;
  };
  return {
    theme: BASE + scriptOf('theme').fileName,
    page: BASE + scriptOf('page').fileName,
    reference: BASE + scriptOf('reference').fileName,
    styles: stylesOf('page'),
    referenceStyles: stylesOf('reference'),
  };
}

/** The documents as pages that link to each other. */
class Site {
  private readonly rendered: readonly (readonly [Source, Rendered])[];
  /** Pages of linked files that are not documents, by name. */
  private readonly files = new Map<string, Rendered>();
  private readonly pictures = new Map<string, string>();
  private readonly parts: readonly Part[];

  constructor(
    private readonly root: string,
    sources: readonly Source[],
    private readonly emit: (name: string, source: Uint8Array) => string,
  ) {
    const known = new Map(sources.map((source) => [source.file, source]));
    this.parts = partsOf(sources);
    this.rendered = sources.map((source) => [
      source,
      render(source.text, (target) => this.resolve(source.file, target, known)),
    ]);
  }

  searchEntries(): SearchEntry[] {
    return this.rendered.flatMap(([{ name }, { sections }]) =>
      sections.map(({ anchor, path: titles, text }): SearchEntry => [name, anchor, titles, text]),
    );
  }

  *pages(built: Built): Generator<[name: string, html: string]> {
    for (const [{ name }, page] of this.rendered) yield [name, this.pageOf(name, page, built)];
    for (const [name, page] of this.files) yield [name, this.pageOf(name, page, built)];
    yield [REFERENCE, referencePage(built)];
  }

  /** What a target in the document `from` is; null for what the site does not show. */
  private resolve(from: string, target: string, known: ReadonlyMap<string, Source>): Target | null {
    if (/^(https?:|mailto:|#)/.test(target)) return { address: target };
    const [relative, anchor] = target.split('#');
    const file = path.posix.join(path.posix.dirname(from), relative);
    const place = path.join(this.root, file);
    if (!existsSync(place)) throw new Error(`${from} links to ${target}, which is not there`);
    const after = anchor === undefined ? '' : `#${anchor}`;
    const source = known.get(file) ?? known.get(`${file}/README.md`);
    if (source !== undefined)
      return { address: `${addressOf(source.name)}${after}`, title: source.title };
    if (statSync(place).isDirectory()) return null;
    if (/\.(png|svg)$/.test(file)) return { address: this.pictureOf(file) };
    const name = pageName(file);
    this.files.set(name, renderFile(file, readFileSync(place, 'utf8')));
    return { address: addressOf(name) };
  }

  private pictureOf(file: string): string {
    const known = this.pictures.get(file);
    if (known !== undefined) return known;
    const address = this.emit(path.basename(file), readFileSync(path.join(this.root, file)));
    this.pictures.set(file, address);
    return address;
  }

  private pageOf(name: string, { title: own, html, headings }: Rendered, built: Built): string {
    const link = (page: string, text: string) =>
      `<li><a href="${addressOf(page)}"${page === name ? ' aria-current="page"' : ''}>${escapeHtml(text)}</a></li>`;
    const contents = this.parts
      .map(({ title: part, sources }) => {
        const links = sources.map(({ name: page, title }) => link(page, title));
        if (part === 'API') links.push(link(REFERENCE, 'Try requests'));
        return `<h2>${escapeHtml(part)}</h2><ul>${links.join('')}</ul>`;
      })
      .join('\n');
    return `${headOf(name === '' ? 'Fathom: documents' : `${own} - Fathom`, built)}
<link rel="stylesheet" href="${built.styles}">
<script type="module" src="${built.page}"></script>
</head>
<body data-search="${built.search}">
<a class="skip" href="#main">Skip to the text</a>
<header class="bar">
<button type="button" id="menu" aria-expanded="false" aria-controls="contents">Contents</button>
<a class="home" href="/docs">Fathom<span>documents</span></a>
<search class="search"><input id="search" type="search" role="combobox" placeholder="Search the documents" aria-label="Search the documents" aria-keyshortcuts="/" aria-expanded="false" aria-controls="results" aria-autocomplete="list" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd>
<div id="found" hidden><p id="count" role="status"></p><ul id="results" role="listbox" aria-label="Results"></ul></div></search>
<button type="button" id="theme">Theme</button>
<a href="/">Explorer</a>
</header>
<div class="columns">
<nav id="contents" aria-label="Documents">${contents}</nav>
<main id="main" tabindex="-1"><article>${html}</article></main>
${outlineOf(headings)}
</div>
<noscript><p>The search needs JavaScript.</p></noscript>
</body>
</html>
`;
  }
}

const headOf = (title: string, { theme, icon }: Built) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="dark light">
<title>${escapeHtml(title)}</title>
<link rel="icon" type="image/svg+xml" href="${icon}">
<script src="${theme}"></script>`;

/** The second and third level of a document's headings. */
function outlineOf(headings: readonly Heading[]): string {
  const shown = headings.slice(1).filter(({ depth }) => depth <= 3);
  if (shown.length < 2) return '';
  const links = shown.map(
    ({ depth, title, anchor }) =>
      `<li class="level-${depth}"><a href="#${anchor}">${escapeHtml(title)}</a></li>`,
  );
  return `<nav class="outline" aria-label="On this page"><h2>On this page</h2><ul>${links.join('')}</ul></nav>`;
}

/** Swagger UI. */
const referencePage = (built: Built) => `${headOf('Fathom API', built)}
<link rel="stylesheet" href="${built.swaggerStyles}">
<link rel="stylesheet" href="${built.referenceStyles}">
</head>
<body>
<header class="bar"><div><strong>Fathom API</strong>
<p id="key" role="status"></p>
<a href="/docs/api">Documents</a>
<a href="/">Explorer</a></div></header>
<div id="docs"></div>
<noscript>This page needs JavaScript. The description is at <a href="/api/v1/openapi.json">/api/v1/openapi.json</a></noscript>
<script src="${built.swagger}"></script>
<script type="module" src="${built.reference}"></script>
</body>
</html>
`;
