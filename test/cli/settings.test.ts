/** The settings of `fathom serve`, as the documentation shows them. */
import { describe, expect, it } from 'vitest';
import { SERVE_FLAGS, SETTINGS, variableOf } from '../../server/cli/settings.js';
import { documentNamed, tableCells } from '../docs/documents.js';

describe('the settings of serve', () => {
  it('are those of the table in docs/operating.md', () => {
    const section = documentNamed('docs/operating.md').text.split('\n## Settings\n')[1];
    const rows = section
      .split('\n')
      .filter((line) => /^\|.*FATHOM_/.test(line))
      .map(tableCells);
    const declared = Object.entries(SETTINGS).map(([name, { default: shown, meaning }]) => [
      name in SERVE_FLAGS ? `--${name}` : '',
      variableOf(name),
      shown,
      meaning.replaceAll('`', ''),
    ]);
    expect(rows).toEqual(declared);
  });
});
