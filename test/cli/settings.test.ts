/** The settings of `fathom serve`, as the documentation shows them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { readWords } from '../../server/cli/flags.js';
import { flagRow } from '../../server/cli/help.js';
import { SERVE_FLAGS, serveOptions, SETTINGS, variableOf } from '../../server/cli/settings.js';
import { documentNamed, tableCells } from '../docs/documents.js';

describe('the settings of serve', () => {
  it('are those of the table in docs/operating.md', () => {
    const section = documentNamed('docs/operating.md').text.split('\n## Settings\n')[1];
    const rows = section
      .split('\n')
      .filter((line) => /^\|.*FATHOM_/.test(line))
      .map(tableCells);
    const declared = Object.entries(SETTINGS).map(([name, setting]) => {
      const [, shown, meaning] = flagRow(name, setting);
      const flag = name in SERVE_FLAGS ? `--${name}` : '';
      return [flag, variableOf(name), shown, meaning.replaceAll('`', '')];
    });
    expect(rows).toEqual(declared);
  });
});

describe('--stale-after', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'fathom-test-'));
  afterAll(() => {
    vi.unstubAllEnvs();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Seconds by a config file, the variable and the flag. */
  function staleAfter({ config = {}, variable = '', words = [] as string[] }): number {
    const file = path.join(directory, 'config.json');
    writeFileSync(file, JSON.stringify(config));
    vi.stubEnv('FATHOM_CONFIG', file);
    vi.stubEnv('FATHOM_STALE_AFTER', variable);
    return serveOptions(readWords(words, { flags: SERVE_FLAGS, words: {} }).flags).staleAfterS;
  }

  it('is an hour, or what the flag, the variable or the config file says', () => {
    expect(staleAfter({})).toBe(3600);
    const config = { stale_after: '90s' };
    expect(staleAfter({ config })).toBe(90);
    expect(staleAfter({ config: { 'stale-after': 120 } })).toBe(120);
    expect(staleAfter({ config, variable: '15m' })).toBe(900);
    expect(staleAfter({ config, variable: '15m', words: ['--stale-after', '7d'] })).toBe(604_800);
  });

  it('refuses what is no duration, and one key in two spellings', () => {
    for (const wrong of ['0', '1.5h', '-1h', 'hour', '36501d', '1h30m']) {
      expect(() => staleAfter({ variable: wrong })).toThrow(
        `FATHOM_STALE_AFTER: expected a duration from 1s to 36500d, such as 90s, 15m or 2h, not ${wrong}`,
      );
    }
    expect(() => staleAfter({ config: { stale_after: 'x' } })).toThrow(
      'config: stale-after: expected a duration',
    );
    expect(() => staleAfter({ config: { stale_after: '1h', 'stale-after': '1h' } })).toThrow(
      'stale-after: given twice',
    );
  });
});
