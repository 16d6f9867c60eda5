/** Markdown as pages: what GitHub would make of it, and what the search reads. */
import { describe, expect, it } from 'vitest';
import { render } from '../../documents/render.js';
import { findSources, pageName, partsOf } from '../../documents/sources.js';
import { anchorOf } from '../docs/documents.js';

const page = (text: string) => render(text, (address) => ({ address }));

describe('headings', () => {
  it("have GitHub's anchors, numbered where they repeat", () => {
    const text =
      '# The `--as-of` flag\n\n## GET /replay/:address\n\n## Two: _words_\n\n## Two: words\n';
    expect(page(text).headings.map(({ anchor }) => anchor)).toEqual([
      'the---as-of-flag',
      'get-replayaddress',
      'two-words',
      'two-words-1',
    ]);
  });

  it('of all documents have the anchors that the tests of links expect', () => {
    const sources = findSources('.');
    expect(sources.length).toBeGreaterThan(15);
    for (const { file, text } of sources) {
      for (const { title, anchor } of page(text).headings) {
        expect([file, anchor.replace(/-\d+$/, '')]).toEqual([
          file,
          anchorOf(title).replace(/-\d+$/, ''),
        ]);
      }
    }
  });
});

describe('HTML', () => {
  it('shows code as it is written', () => {
    const { html } = page('# A\n\nText `a < b && "c"`.\n\n```sh\necho <x> & done\n```\n');
    expect(html).toContain('<code>a &lt; b &amp;&amp; &quot;c&quot;</code>');
    expect(html.replace(/<\/?span[^>]*>/g, '')).toContain('<code>echo &lt;x&gt; &amp; done</code>');
  });

  it('lets tables scroll in themselves, by keyboard too', () => {
    const { html } = page('# A\n\n| a | b |\n| - | - |\n| `x \\| y` | [z](q) |\n');
    expect(html).toMatch(
      /<div class="table" tabindex="0" role="region" aria-label="[^"]+"><table>/,
    );
    expect(html).toContain('<td><code>x | y</code></td><td><a href="q">z</a></td>');
  });

  it('has the text of a link whose target the site does not show', () => {
    expect(render('# A\n\nSee [the code](../src).\n', () => null).html).toContain(
      '<p>See the code.</p>',
    );
  });

  it('names documents by their titles', () => {
    const target = { address: '/docs/api', title: 'The <API>' };
    expect(render('# A\n\n[docs/api.md](api.md) and [it](api.md)\n', () => target).html).toContain(
      '<a href="/docs/api">The &lt;API&gt;</a> and <a href="/docs/api">it</a>',
    );
  });

  it('has the names of files above their text, and classes for the parts of code', () => {
    const { html } = page('# A\n\n```ndjson a.ndjson\n{"b": "<c>"}\n```\n\n```sh run\nls\n```\n');
    expect(html).toContain('<figcaption>a.ndjson</figcaption>');
    expect(html).toContain('<span class="hljs-string">&quot;&lt;c&gt;&quot;</span>');
    expect(html).not.toContain('<figcaption>run');
  });

  it('refuses a picture that is not there', () => {
    expect(() => render('![x](gone.png)', () => null)).toThrow('there is no picture gone.png');
  });
});

describe('sections', () => {
  it('are what stands between two headings, below those above it', () => {
    const text =
      '# A\n\none *two*\n\n## B\n\n- three `four`\n\n### C\n\n| h | i |\n| - | - |\n| 1 | 2 |\n\n# D\n\nfive\n';
    expect(page(text).sections).toEqual([
      { path: ['A'], anchor: 'a', text: 'one two' },
      { path: ['A', 'B'], anchor: 'b', text: 'three four' },
      { path: ['A', 'B', 'C'], anchor: 'c', text: 'h i 1 2' },
      { path: ['A', 'D'], anchor: 'd', text: 'five' },
    ]);
  });

  it('have commands, but not replies', () => {
    const text = '# A\n\n```sh\ncurl x && y\n```\n\n```json\n{"z": 1}\n```\n';
    expect(page(text).sections[0].text).toBe('curl x && y');
  });
});

describe('the contents', () => {
  it('have each document once, also those that nobody has put into a part', () => {
    const sources = [
      ...findSources('.'),
      { file: 'docs/new.md', name: 'new', title: 'New', text: '# New' },
    ];
    const listed = partsOf(sources).flatMap((part) => part.sources.map(({ file }) => file));
    const expected = sources
      .map(({ file }) => file)
      .filter((file) => !/^docs\/decisions\/\d/.test(file));
    expect(listed.toSorted()).toEqual(expected.toSorted());
  });

  it('have names without dots, each for one document', () => {
    const names = findSources('.').map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[a-z0-9-]*$/.test(name))).toEqual([]);
    expect(pageName('docs/deploy/README.md')).toBe('deploy');
    expect(pageName('docs/deploy/nginx.conf')).toBe('deploy-nginx-conf');
  });
});
