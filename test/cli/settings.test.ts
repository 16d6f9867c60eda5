/** The settings of `fathom serve`, as in the documentation. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { sharedSettingsOf, withSharedSettings } from '../../server/cli/shared-settings.js';
import { CLUSTER_FLAGS } from '../../server/cli/cluster-settings.js';
import { readWords } from '../../server/cli/flags.js';
import { flagRow } from '../../server/cli/help.js';
import { serveOptions } from '../../server/cli/serve-options.js';
import { SERVE_FLAGS, SETTINGS } from '../../server/cli/settings.js';
import { variableOf } from '../../server/cli/effective-settings.js';
import type { Settings } from '../../storage/log/settings.js';
import { fathom } from '../support/cli.js';
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

describe('The addresses of serve', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'fathom-test-'));
  const config = path.join(directory, 'config.json');
  afterAll(() => {
    vi.unstubAllEnvs();
    rmSync(directory, { recursive: true, force: true });
  });
  const optionsOf = (line: string, settings: object = {}) => {
    writeFileSync(config, JSON.stringify(settings));
    vi.stubEnv('FATHOM_CONFIG', config);
    return serveOptions(readWords(line.split(' '), { flags: SERVE_FLAGS, words: {} }).flags);
  };

  // uWebSockets.js listens on a free port of every address if the host is empty.
  it('are never empty', () => {
    for (const name of ['host', 'admin-host', 'data']) {
      const wrong = `${name}: expected a value, not an empty text`;
      expect(() => optionsOf(`--${name}=`)).toThrow(`--${wrong}`);
      expect(() => optionsOf('--port=1', { [name]: '' })).toThrow(wrong);
    }
  });

  it('have a separate port for --admin-port, without which --admin-host means nothing', () => {
    expect(() => optionsOf('--port=8081 --admin-port=8081')).toThrow(
      "--admin-port: expected a port other than the API's, 8081",
    );
    expect(() => optionsOf('--admin-host=0.0.0.0')).toThrow('--admin-host: needs --admin-port');
    expect(optionsOf('--port=0 --admin-port=0 --admin-host=::1').admin).toEqual({
      host: '::1',
      port: 0,
    });
  });
});

describe('The servers of a cluster', () => {
  const CLUSTER = '--node=a --cluster';
  const optionsOf = (line: string) =>
    serveOptions(readWords(line.split(' '), { flags: SERVE_FLAGS, words: {} }).flags);

  it('use TLS either all or none, and need it for certificate files', () => {
    const own = 'README.md';
    const words = `--cluster-ca=${own} --cluster-cert=${own} --cluster-key=${own}`;
    const { cluster } = optionsOf(`${CLUSTER}=tls://x:1,tls://y:1 ${words}`);
    const file = path.resolve(own);
    expect(cluster?.access).toEqual({
      ...{ servers: ['tls://x:1', 'tls://y:1'], credentials: null },
      ...{ ca: file, cert: file, key: file },
    });
    const faults: [string, string][] = [
      [`${CLUSTER}=tls://x:1,nats://y:1`, '--cluster: expected all servers as tls://host:port'],
      [`${CLUSTER}=nats://x:1 --cluster-ca=${own}`, '--cluster-ca: needs servers as tls://'],
      [`${CLUSTER}=tls://x:1 --cluster-key=${own}`, '--cluster-key: needs --cluster-cert'],
      [`--cluster-credentials=${own}`, '--cluster-credentials: needs --cluster'],
      [
        `${CLUSTER}=tls://x:1 --cluster-ca=none.pem`,
        '--cluster-ca: none.pem cannot be read: ENOENT',
      ],
    ];
    for (const [line, fault] of faults) expect(() => optionsOf(line)).toThrow(fault);
  });

  it('change only those settings of a node that change replies', () => {
    const words = ['--stale-after=2h', '--native-code=XYZ', '--lenient-parameters', '--port=1'];
    vi.stubEnv('FATHOM_PLANS', '{"premium":{"monthly_quota":"unlimited"}}');
    vi.stubEnv('FATHOM_RETENTION', '{"raw":"30d"}');
    const other = optionsOf(words.join(' '));
    vi.unstubAllEnvs();
    const own = optionsOf('--port=2');
    const sent = JSON.parse(JSON.stringify(sharedSettingsOf(other))) as Settings;
    const { plans, ...read } = withSharedSettings(own, sent);
    expect(read).toEqual({ ...other, port: 2, plans: undefined });
    expect(plans.premium.monthlyQuota).toBe(Infinity);
    expect(sharedSettingsOf(withSharedSettings(own, sent))).toEqual(sent);
    expect(sharedSettingsOf(own)).not.toEqual(sent);
  });

  it('come from their variables if commands do not get them as flags', () => {
    vi.stubEnv('FATHOM_CLUSTER', 'tls://x:1');
    vi.stubEnv('FATHOM_CLUSTER_CA', 'README.md');
    const read = (...words: string[]) =>
      readWords(words, { flags: CLUSTER_FLAGS, words: {} }).flags;
    expect(read()).toMatchObject({
      cluster: ['tls://x:1'],
      'cluster-ca': path.resolve('README.md'),
      'cluster-cert': undefined,
    });
    expect(read('--cluster=nats://y:1').cluster).toEqual(['nats://y:1']);
    vi.stubEnv('FATHOM_CLUSTER', 'x:1');
    expect(() => read()).toThrow(/^FATHOM_CLUSTER: expected servers as nats:/);
    vi.unstubAllEnvs();
    expect(() => read()).toThrow(/^--cluster: expected URLS/);
  });

  it('may not have a password in their addresses, and no fault repeats one', () => {
    const wrong = (): unknown => optionsOf(`${CLUSTER}=nats://fathom:s3cret@x:1`);
    expect(wrong).toThrow(/^--cluster: .* the file that --cluster-credentials names$/);
    expect(wrong).not.toThrow(/s3cret/);
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

  it('refuses invalid durations, and one key in two spellings', () => {
    for (const wrong of ['0', '1.5h', '-1h', 'hour', '36501d', '1h30m']) {
      expect(() => staleAfter({ variable: wrong })).toThrow(
        `FATHOM_STALE_AFTER: expected a duration from 1s to 36500d, such as 90s, 15m or 2h, not ${wrong}`,
      );
    }
    expect(() => staleAfter({ config: { stale_after: 'x' } })).toThrow(
      'config.json: stale_after: expected a duration',
    );
    expect(() => staleAfter({ config: { stale_after: '1h', 'stale-after': '1h' } })).toThrow(
      'stale-after: given twice',
    );
  });
});

describe('retention', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'fathom-test-'));
  afterAll(() => {
    vi.unstubAllEnvs();
    rmSync(directory, { recursive: true, force: true });
  });
  const retention = (value: unknown) => {
    const file = path.join(directory, 'config.json');
    writeFileSync(file, JSON.stringify({ retention: value }));
    vi.stubEnv('FATHOM_CONFIG', file);
    return serveOptions(readWords([], { flags: SERVE_FLAGS, words: {} }).flags).retention;
  };

  it('has a duration for each tier that is not kept forever', () => {
    const kept = { raw: '30d', '15m': '26w', '1h': '9000h' };
    expect(retention(kept)).toEqual({ raw: 2_592_000, '15m': 15_724_800, '1h': 32_400_000 });
    expect(retention({ '1h': '90s' })).toEqual({ '1h': 90 });
    expect(retention({})).toEqual({});
  });

  it.each([
    [{ daily: '30d' }, 'retention.daily: expected one of raw, 15m, 1h'],
    [{ raw: '1.5d' }, 'retention.raw: expected a duration from 1s to 36500d'],
    [{ raw: '0d' }, 'retention.raw: expected a duration from 1s to 36500d'],
    // Seconds, or meant as days?
    [{ raw: '30' }, 'retention.raw: expected a duration with its unit, such as "30d", not "30"'],
    [{ raw: 30 }, 'retention.raw: expected a duration with its unit, such as "30d", not 30'],
    [{ raw: null }, 'retention.raw: expected a duration with its unit, such as "30d", not null'],
    ['30d', 'retention: expected an object with raw, 15m, 1h'],
  ])('refuses %j', (value, told) => {
    expect(() => retention(value)).toThrow(told);
  });
});

describe('fathom config', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'fathom-test-'));
  const file = path.join(directory, 'config.json');
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const config = (words: string, settings: object, env: Record<string, string> = {}) => {
    writeFileSync(file, JSON.stringify(settings));
    return fathom(`config ${words}`.trim().split(' '), { FATHOM_CONFIG: file, ...env });
  };

  it('shows each setting and its source, in the form of the config file', async () => {
    const settings = {
      stale_after: '15m',
      host: '::1',
      'cors-origin': ['*'],
      plans: { premium: { monthly_quota: 5 } },
      retention: { raw: '30d' },
    };
    const env = { FATHOM_THREADS: '2', FATHOM_HOST: '::' };
    const shown = await config('--port 9999 --json', settings, env);
    const document = JSON.parse(shown.stdout) as {
      config_file: string;
      settings: Record<string, { value: unknown }>;
    };
    expect(Object.keys(document.settings)).toEqual(Object.keys(SETTINGS));
    const inFile = (key: string) => ({ source: 'file', from: `${file}: ${key}` });
    expect([shown.status, document]).toMatchObject([
      0,
      {
        config_file: file,
        settings: {
          port: { value: 9999, source: 'flag', from: '--port' },
          host: { value: '::', source: 'variable', from: 'FATHOM_HOST' },
          threads: { value: 2, source: 'variable', from: 'FATHOM_THREADS' },
          data: { value: path.resolve('data'), source: 'default', from: null },
          'log-level': { value: 'info', source: 'default', from: null },
          'stop-delay': { value: null, source: 'default', from: null },
          'stale-after': { value: '15m', ...inFile('stale_after') },
          'cors-origin': { value: ['*'], ...inFile('cors-origin') },
          retention: { value: { raw: '30d' }, ...inFile('retention') },
          plans: inFile('plans'),
        },
      },
    ]);
    // What it shows can be pasted into the file with the same meaning.
    const values = Object.entries(document.settings).filter(([, { value }]) => value !== null);
    const again = await config(
      '--json',
      Object.fromEntries(values.map(([name, { value }]) => [name, value])),
    );
    const values2 = (JSON.parse(again.stdout) as typeof document).settings;
    for (const [name, { value }] of values) expect(values2[name].value).toEqual(value);

    const text = await config('', settings);
    expect(text.stdout).toContain(`config file: ${file}\n`);
    expect(text.stdout).toMatch(/^log-format +default +pretty on a terminal, otherwise json$/m);
    expect(text.stdout).toMatch(/^host +\S+: host +::1$/m);
  });

  it('names every fault of flags, variables and the file at once', async () => {
    const settings = {
      portt: 1,
      stale_after: true,
      threads: 0,
      'cors-origin': ['a', '*', 'b'],
      plans: {
        premium: { depth: 'x', rates: { general: { requests: -1, seconds: 'a' }, foo: 1 } },
        gold: {},
      },
      retention: { raw: 3, day: '1d' },
      admin_host: '1.2.3.4',
    };
    const told = await config('--port 99999 --http-engine x', settings, {
      FATHOM_LOG_LEVEL: 'loud',
    });
    expect(told.status).toBe(2);
    const expected = [
      `fathom: ${file}: portt: expected one of data, host, port,`,
      `${file}: stale_after: expected a text or a number`,
      '--port: expected a whole number from 0 to 65535, not 99999',
      `${file}: threads: expected a whole number from 1 to 256, not 0`,
      'FATHOM_LOG_LEVEL: expected one of fatal, error, warn, info, debug, not loud',
      '--http-engine: expected uws or node, not x',
      `${file}: cors-origin: expected an origin such as https://app.example.com, or *, not 'a'`,
      `${file}: cors-origin: expected an origin such as https://app.example.com, or *, not 'b'`,
      `${file}: plans: premium.depth: expected "live" or "delayed"`,
      `${file}: plans: premium.rates.general.requests: expected a whole number from 1 to`,
      `${file}: plans: premium.rates.general.seconds: expected a whole number from 1 to 86400`,
      `${file}: plans: premium.rates.foo: expected one of general`,
      `${file}: plans: gold.tier: expected "premium" or "enterprise"`,
      `${file}: retention.raw: expected a duration with its unit`,
      `${file}: retention.day: expected one of raw, 15m, 1h`,
      `${file}: admin_host: needs --admin-port`,
      'See fathom help config',
    ];
    const lines = told.stderr.trimEnd().split('\n');
    expect(lines.map((line, i) => line.slice(0, expected[i]?.length))).toEqual(expected);
  });

  it('reports a file that is not JSON', async () => {
    writeFileSync(file, '{"port": 1,}');
    const { status, stderr } = await fathom(['config'], { FATHOM_CONFIG: file });
    expect([status, stderr]).toEqual([2, expect.stringMatching(/config.json: expected JSON: .+/)]);
  });
});
