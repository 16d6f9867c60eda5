/** The settings of `fathom serve`, as the documentation and the help show them. */
import { describe, expect, it } from 'vitest';
import { DESCRIBED_SETTINGS, SERVE_HELP } from '../../server/cli/settings.js';
import { documentNamed } from '../docs/documents.js';

/** A cell of a table as plain text: links by their text, without backticks. */
const plain = (cell: string) =>
  cell
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .trim();

describe('the settings of serve', () => {
  it('are those of the table in docs/operating.md', () => {
    const section = documentNamed('docs/operating.md').text.split('\n## Settings\n')[1];
    const rows = section
      .split('\n')
      .filter((line) => /^\|.*FATHOM_/.test(line))
      .map((line) => line.split('|').slice(1, -1).map(plain));
    const declared = DESCRIBED_SETTINGS.map(({ flag, variable, meaning, ...setting }) =>
      [flag ?? '', variable, setting.default, meaning].map(plain),
    );
    expect(rows).toEqual(declared);
  });

  it('are all in the help of the command', () => {
    for (const { flag, variable } of DESCRIBED_SETTINGS) {
      expect(SERVE_HELP).toContain(variable);
      if (flag !== null) expect(SERVE_HELP).toContain(`${flag}, ${variable}: `);
    }
  });
});
