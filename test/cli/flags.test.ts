/** How a command line is parsed. */
import { describe, expect, it } from 'vitest';
import { loadAll } from '../../server/cli/commands.js';
import { asksForHelp, instant, readWords } from '../../server/cli/flags.js';
import { UsageError } from '../../storage/errors.js';

const DECLARED = {
  words: { format: { values: ['csv', 'json'] }, file: { repeated: true } },
  flags: {
    from: { placeholder: 'TIME', meaning: '', read: instant },
    'min-pct': { placeholder: 'N', meaning: '' },
    tier: { placeholder: 'T', meaning: '', needed: true, values: ['one', 'two'] },
    also: { repeated: true, placeholder: 'X', meaning: '' },
    merge: { meaning: '' },
  },
} as const;

const read = (line: string) => readWords(line.split(' '), DECLARED);
const nowS = () => Math.floor(Date.now() / 1000);

describe('a command line', () => {
  it('gives each flag and word its value', () => {
    const { flags, words } = read('csv --also a x --tier=two --merge y --also=-b --min-pct 3');
    expect(words).toEqual({ format: 'csv', file: ['x', 'y'] });
    const given = { tier: 'two', also: ['a', '-b'], merge: true, 'min-pct': '3', from: undefined };
    expect(flags).toEqual(given);
    expect(read('json x --tier one').flags).toMatchObject({ merge: false, also: [] });
  });

  it('may have values that begin with a dash', () => {
    const { flags } = read('csv x --tier one --from -24h --min-pct -60 --also -');
    expect(nowS() - Number(flags.from) - 86_400).toBeLessThan(5);
    expect(flags).toMatchObject({ 'min-pct': '-60', also: ['-'] });
    expect(read('csv x --tier one --min-pct -h').flags).toMatchObject({ 'min-pct': '-h' });
    expect(read('csv --tier one -- --from -h').words).toMatchObject({ file: ['--from', '-h'] });
  });

  it('asks for help with -h, but not where that is the value of a flag, for every command', async () => {
    for (const { name, command } of await loadAll()) {
      const asks = (...words: string[]) =>
        asksForHelp([...name.split(' '), ...words], command.flags);
      expect([asks('-h'), asks('x', '--help'), asks('--', '-h')]).toEqual([true, true, false]);
      for (const [flag, { placeholder }] of Object.entries(command.flags)) {
        const takesValue = placeholder !== undefined;
        expect(asks(`--${flag}`, '-h'), `${name} --${flag} -h`).toBe(!takesValue);
        expect(asks(`--${flag}=-h`)).toBe(false);
        // A word with two dashes is never a value.
        expect(asks(`--${flag}`, '--help')).toBe(true);
        expect(asks(`--${flag}`, 'x', '-h')).toBe(true);
      }
    }
  });

  it.each([
    ['1795132800', 1_795_132_800],
    ['2026-11-20', Date.UTC(2026, 10, 20) / 1000],
    ['2026-11-20T01:00:00+01:00', Date.UTC(2026, 10, 20) / 1000],
  ])('accepts %s as a time', (text, expected) => {
    expect(read(`csv x --tier one --from ${text}`).flags.from).toBe(expected);
  });

  it('accepts now as a time', () => {
    expect(nowS() - Number(read('csv x --tier one --from now').flags.from)).toBeLessThan(5);
  });

  it.each([
    ['', 'FORMAT: expected csv or json'],
    ['cvs x', 'FORMAT: expected csv or json, not cvs; did you mean csv?'],
    ['csv', 'FILE: expected at least one'],
    ['csv x', '--tier: expected one or two'],
    ['csv x --tier three', '--tier: expected one or two, not three'],
    ['csv x --tier one --merg', 'unknown flag --merg; did you mean --merge?'],
    ['csv x --tier one --nonsense', 'unknown flag --nonsense'],
    ['csv x --tier one -m', 'unknown flag -m'],
    ['csv x --tier --merge', '--tier needs a value'],
    ['csv x --merge=yes --tier one', '--merge takes no value'],
    ['csv x --tier one --tier one', '--tier: given twice'],
    ['csv x --tier one --from yesterday', /^--from: expected epoch seconds, .* -24h$/],
  ])('%j is wrong usage', (line, message) => {
    const call = () => readWords(line === '' ? [] : line.split(' '), DECLARED);
    expect(call).toThrow(UsageError);
    expect(call).toThrow(message);
  });
});
