/** What all commands share. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMAND_NAMES, loadCommand } from '../../server/cli/commands.js';
import { commandHelp } from '../../server/cli/help.js';
import { fathom, fathomProcess } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';

const REVOKE_HELP = `Revokes a key permanently.

Usage: fathom keys revoke KEY [FLAG...]

Flags:
  --data DIR  data directory (default: ./data)
  --json      prints one JSON document on stdout

Environment:
  FATHOM_DATA  stands for --data

Examples:
  fathom keys revoke key_0ddfeb50b54c5711
  fathom keys revoke alice --data data --json`;

const KEYS_HELP = `  keys create  creates an API key
  keys list    lists the API keys
  keys update  changes a key's name, plan, limits or expiry
  keys rotate  replaces a key's text
  keys revoke  revokes a key`;

describe('fathom', () => {
  it('lists the commands on one line each, as help or after wrong usage', async () => {
    const [help, none] = [await fathom(['--help']), await fathom([])];
    expect(help).toEqual({ status: 0, stdout: none.stderr, stderr: '' });
    expect([none.status, none.stdout]).toEqual([2, '']);
    const lines = help.stdout.split('\n');
    for (const name of COMMAND_NAMES) {
      expect(lines.filter((line) => line.startsWith(`  ${name}  `))).toHaveLength(1);
    }
    expect(lines.length).toBeLessThan(COMMAND_NAMES.length + 10);
  });

  it('has help in these words, as wide as the terminal up to 100 columns', async () => {
    const help = await fathom(['help', 'keys', 'revoke']);
    expect(help).toEqual({ status: 0, stdout: `${REVOKE_HELP}\n`, stderr: '' });
    const group = await fathom(['help', 'keys']);
    expect(group.stdout).toContain(`\nCommands:\n${KEYS_HELP}\n`);
    const command = await loadCommand('ingest');
    const widest = (columns: number) =>
      Math.max(
        ...commandHelp('ingest', command, columns)
          .split('\n')
          .map(({ length }) => length),
      );
    for (const columns of [80, 90, 100]) {
      expect(widest(columns)).toBeLessThanOrEqual(columns);
      expect(widest(columns)).toBeGreaterThan(columns - 10);
    }
    expect([commandHelp('ingest', command, 120), commandHelp('ingest', command, 20)]).toEqual([
      commandHelp('ingest', command, 100),
      commandHelp('ingest', command, 80),
    ]);
    expect((await fathom(['help', 'ingest'])).stdout).toBe(
      `${commandHelp('ingest', command, 100)}\n`,
    );
  });

  it('prints its version, with the commit where the build knew it', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const file = 'dist/build-id';
    const build = existsSync(file) ? `+${readFileSync(file, 'utf8')}` : '\n';
    for (const word of ['--version', '-V']) {
      expect(await fathom([word])).toEqual({ status: 0, stdout: version + build, stderr: '' });
    }
  });

  it.each(COMMAND_NAMES)('has help on %s with two examples, in 100 columns', async (name) => {
    const words = name.split(' ');
    const [help, flag] = [await fathom(['help', ...words]), await fathom([...words, 'x', '-h'])];
    expect(flag).toEqual(help);
    expect([help.status, help.stderr]).toEqual([0, '']);
    const lines = help.stdout.split('\n');
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    const { flags, examples } = await loadCommand(name);
    expect(examples.length).toBeGreaterThan(1);
    for (const example of examples) {
      expect(help.stdout.replaceAll(/ \\\n +/g, ' ')).toContain(`\n  ${example}\n`);
    }
    for (const flagName of Object.keys(flags)) {
      expect(lines).toContainEqual(expect.stringMatching(`^  --${flagName}(?![a-z-])`));
    }
  });

  it.each([
    [['improt'], 'unknown command improt; did you mean import?', ''],
    [['--verion'], 'unknown flag --verion; did you mean --version?', ''],
    [['-x'], 'unknown flag -x', ''],
    [['__proto__'], 'unknown command __proto__', ''],
    [['help', 'key'], 'unknown command key; did you mean keys?', ''],
    [
      ['help', 'keys', 'crate'],
      'keys: expected create, list, update, rotate or revoke, not crate; did you mean create?',
      '',
    ],
    [['help', 'improt'], 'unknown command improt; did you mean import?', ''],
    [['keys'], 'keys: expected create, list, update, rotate or revoke', ' keys'],
    [
      ['keys', 'crate'],
      'keys: expected create, list, update, rotate or revoke, not crate; did you mean create?',
      ' keys',
    ],
    [
      ['cluster', 'stauts'],
      'cluster: expected status, set, trim or leave, not stauts; did you mean status?',
      ' cluster',
    ],
    [['queue', '--jsno'], 'unknown flag --jsno; did you mean --json?', ' queue'],
    [['queue', '-j'], 'unknown flag -j', ' queue'],
    [['queue', '--json=yes'], '--json takes no value', ' queue'],
    [['queue', 'x'], 'unexpected x: expected only flags', ' queue'],
    [['queue', '--data'], '--data needs a value', ' queue'],
    [['queue', '--data='], '--data: expected a value, not an empty text', ' queue'],
    [['queue', '--data', 'a', '--data', 'b'], '--data: given twice', ' queue'],
    [
      ['ingest'],
      'DATASET: expected one of tokens, snapshots, cells, levels, dca_orders, limit_orders, holders, dlmm_pools, dlmm_hours, token_hours',
      ' ingest',
    ],
    [
      ['ingest', 'tokns', 'x'],
      'DATASET: expected one of tokens, snapshots, cells, levels, dca_orders, limit_orders, holders, dlmm_pools, dlmm_hours, token_hours, not tokns; did you mean tokens?',
      ' ingest',
    ],
    [['ingest', 'tokens'], 'FILE: expected at least one', ' ingest'],
    [
      ['ingest', 'tokens', 'x.csv', '--format', 'cvs'],
      '--format: expected one of ndjson, csv, parquet, arrow, not cvs; did you mean csv?',
      ' ingest',
    ],
    [
      ['ingest', 'tokens', 'x.csv', '--time-unit', 'sec'],
      '--time-unit: expected one of auto, s, ms, us, ns, iso, not sec',
      ' ingest',
    ],
    [['delete'], '--token: expected TOKEN', ' delete'],
    [['prune'], '--before: expected TIME', ' prune'],
    [
      ['prune', '--before', 'never'],
      '--before: expected epoch seconds, RFC 3339 with a zone, a date, now, or a time before now such as -24h',
      ' prune',
    ],
    [['keys', 'create'], '--tier: expected premium or enterprise', ' keys create'],
    [
      ['keys', 'create', '--tier', 'gold'],
      '--tier: expected premium or enterprise, not gold: no other plan is configured',
      ' keys create',
    ],
    [
      ['keys', 'create', '--tier', 'premium', '--rpm', '0'],
      '--rpm: expected a whole number from 1 to 1000000000, or unlimited, not 0',
      ' keys create',
    ],
    [
      ['keys', 'create', '--tier', 'premium', '--expires', '+0d'],
      '--expires: expected a duration from 1s to 3650d, such as 90s, 15m or 2h, not 0d',
      ' keys create',
    ],
    [
      ['keys', 'create', '--tier', 'premium', '--expires', '2001-01-01'],
      '--expires: expected a time in the future, not 2001-01-01; to end a key, revoke it',
      ' keys create',
    ],
    [
      ['keys', 'create', '--tier', 'premium', '--name', ''],
      '--name: expected a value, not an empty text',
      ' keys create',
    ],
    [
      ['keys', 'update', 'x'],
      'expected at least one of --name, --tier, --rpm, --quota, --expires',
      ' keys update',
    ],
    [['keys', 'rotate'], 'KEY: expected one', ' keys rotate'],
    [
      ['keys', 'rotate', 'x', '--overlap', '2x'],
      '--overlap: expected a duration from 1s to 90d, such as 90s, 15m or 2h, not 2x',
      ' keys rotate',
    ],
    [['keys', 'revoke', 'a', 'b'], 'unexpected b: expected only KEY, flags', ' keys revoke'],
    [
      ['usage', '--month', '2026-13'],
      '--month: expected a month such as 2026-11, not 2026-13',
      ' usage',
    ],
    [['follow'], 'TOKEN: expected one', ' follow'],
    [['replay'], 'TOKEN: expected at least one', ' replay'],
    [['replay', '11111111111111111111111111111111'], '--out: expected FILE', ' replay'],
    [
      ['replay', '11111111111111111111111111111111', '--out', 'x', '--format', 'xml'],
      '--format: expected one of json, ndjson, csv, arrow, parquet, not xml',
      ' replay',
    ],
    [['completion'], 'SHELL: expected one of bash, zsh, fish', ' completion'],
    [['completion', 'tcsh'], 'SHELL: expected one of bash, zsh, fish, not tcsh', ' completion'],
    [['backup'], '--out: expected DIR', ' backup'],
    [['check', 'x'], 'unexpected x: expected only flags', ' check'],
    [
      ['config', '--port', 'x'],
      '--port: expected a whole number from 0 to 65535, not x',
      ' config',
    ],
    [
      ['config', '--port', '70000'],
      '--port: expected a whole number from 0 to 65535, not 70000',
      ' config',
    ],
    [
      ['config', '--log-level', 'loud'],
      '--log-level: expected one of fatal, error, warn, info, debug, not loud',
      ' config',
    ],
    [
      ['config', '--threads', '0', '--memory-mib', 'x'],
      '--threads: expected a whole number from 1 to 256, not 0\n--memory-mib: expected a whole number from 1 to 1048576, not x',
      ' config',
    ],
    [['config', '--prot', '1'], 'unknown flag --prot; did you mean --port?', ' config'],
    [
      ['config', '--as-of', 'then'],
      '--as-of: expected epoch seconds, RFC 3339 with a zone, a date, now, or a time before now such as -24h',
      ' config',
    ],
    [
      ['config', '--cors-origin', 'https://a.example/x'],
      "--cors-origin: expected an origin such as https://app.example.com, or *, not 'https://a.example/x'; did you mean https://a.example?",
      ' config',
    ],
    [['config', '--admin-host', '0.0.0.0'], '--admin-host: needs --admin-port', ' config'],
    [
      ['config', '--quote-tokens', 'x'],
      "--quote-tokens: expected base58 mints separated by commas, not 'x'",
      ' config',
    ],
    [
      ['config', '--fragments-disk-gib', '-1'],
      '--fragments-disk-gib: expected a number of GiB from 0 to 1024, such as 4 or 0.5, not -1',
      ' config',
    ],
    [
      ['config', '--stale-after', '0'],
      '--stale-after: expected a duration from 1s to 36500d, such as 90s, 15m or 2h, not 0',
      ' config',
    ],
    [['demo', '--out'], 'unknown flag --out', ' demo'],
    [
      ['import', 'tardis-book-snapshot', 'x'],
      '--token: tardis-book-snapshot needs it (TOKEN)',
      ' import',
    ],
    [['cluster', 'set'], 'NAME=VALUE: expected at least one', ' cluster set'],
    [
      ['cluster', 'set', 'x'],
      'x: expected NAME=VALUE with NAME one of stale-after, native-code, native-mint, quote-tokens, evm-chain-id, lenient-parameters, retention, plans',
      ' cluster set',
    ],
    [
      ['cluster', 'set', 'port=1'],
      'port: each node has its own, in its configuration; expected NAME one of stale-after, native-code, native-mint, quote-tokens, evm-chain-id, lenient-parameters, retention, plans',
      ' cluster set',
    ],
    [['cluster', 'trim', 'x'], 'unexpected x: expected only flags', ' cluster trim'],
    [['retention'], '--allow: expected TIME', ' retention'],
    [['retention', 'resume', 'x'], 'unexpected resume: expected only flags', ' retention'],
    [
      ['delete', '--token', 'mainchain:'],
      '--token: expected an address, CHAIN:ADDRESS, a symbol or CHAIN:SYMBOL',
      ' delete',
    ],
    [
      ['delete', '--token', `mainchain:0x${'1'.repeat(40)}`],
      `--token: expected an address of mainchain, found '0x${'1'.repeat(40)}'`,
      ' delete',
    ],
    [
      ['delete', '--token', `mainchain:${'1'.repeat(32)}`, '--from', '-24h', '--to', '-48h'],
      '--from: expected a time before --to',
      ' delete',
    ],
    [
      ['prune', '--before', '-24'],
      '--before: expected epoch seconds, RFC 3339 with a zone, a date, now, or a time before now such as -24h',
      ' prune',
    ],
  ])(
    '%j is refused in these words, with a pointer and status 2',
    async (words, message, pointer) => {
      const stderr = `fathom: ${message}\nSee fathom help${pointer}\n`;
      expect(await fathom(words)).toEqual({ status: 2, stdout: '', stderr });
    },
  );

  it('continues when the reader of its output is gone', async () => {
    const main = path.resolve('dist/server/cli/main.js');
    const data = path.join(temporaryDirectory(), 'data');
    const words = ['keys', 'create', '--tier', 'premium', '--json', '--data', data];
    const child = spawn(process.execPath, [main, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let output = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
    const status = await new Promise((resolve) => child.once('close', resolve));
    expect([status, output]).toEqual([0, expect.stringContaining('held no store')]);
    const listed = await fathomProcess(['keys', 'list', '--json', '--data', data]);
    expect(JSON.parse(listed.stdout)).toHaveLength(1);
  });
});
