/** The settings of `fathom serve`, as in the documentation. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import {
  readAssignments,
  settingText,
  sharedSettingsOf,
  withSharedSettings,
} from '../../server/cli/shared-settings.js';
import { CLUSTER_FLAGS } from '../../server/cli/cluster-settings.js';
import { readWords } from '../../server/cli/flags.js';
import { flagRow } from '../../server/cli/help.js';
import type { ServeOptions } from '../../server/cli/serve-options.js';
import { defaultThreads } from '../../server/memory.js';
import { UsageError } from '../../storage/errors.js';
import { settingsOf } from '../support/settings.js';
import { SERVE_FLAGS, SETTINGS } from '../../server/cli/settings.js';
import { variableOf } from '../../server/cli/effective-settings.js';
import type { Settings } from '../../storage/log/settings.js';
import { fathom } from '../support/cli.js';
import { MINT, OTHER_MINT } from '../support/stores.js';
import { documentNamed, listedFlags } from '../docs/documents.js';
import { temporaryDirectory } from '../support/folders.js';

it('the settings of serve are those of the lists in docs/settings.md', () => {
  const section = documentNamed('docs/settings.md')
    .text.split('\n## Settings\n')[1]
    .split('\n## ')[0];
  const listed = listedFlags(section);
  const declared = Object.entries(SETTINGS).map(([name, setting]) => {
    const [, shown, meaning] = flagRow(name, setting);
    return [
      name in SERVE_FLAGS ? `--${name}` : variableOf(name),
      shown,
      meaning.replaceAll('`', ''),
    ];
  });
  expect(listed.sort()).toEqual(declared.sort());
  for (const name of Object.keys(SETTINGS)) {
    expect(variableOf(name)).toBe(`FATHOM_${name.toUpperCase().replaceAll('-', '_')}`);
  }
});

const directory = temporaryDirectory();
const file = path.join(directory, 'config.json');

/** What gives the settings: flags, variables, and the config file. */
interface Given {
  words?: readonly string[];
  env?: Readonly<Record<string, string>>;
  config?: object;
}

function optionsOf({ words = [], env = {}, config = {} }: Given): ServeOptions {
  writeFileSync(file, JSON.stringify(config));
  for (const [name, value] of Object.entries({ FATHOM_CONFIG: file, ...env })) {
    vi.stubEnv(name, value);
  }
  try {
    return settingsOf(words);
  } finally {
    vi.unstubAllEnvs();
  }
}

describe('A setting', () => {
  it('has a default', () => {
    expect(optionsOf({})).toMatchObject({
      directory: path.resolve('data'),
      host: '127.0.0.1',
      port: 8080,
      asOfS: null,
      threads: defaultThreads(2048),
      corsOrigins: [],
      addressLimit: null,
      stopDelayS: 0,
      lenientParameters: false,
      staleAfterS: 3600,
    });
  });

  it.each<[string, keyof ServeOptions, [unknown, unknown], [string, unknown], [string, unknown]]>([
    ['data', 'directory', ['/c', '/c'], ['/a', '/a'], ['/b', '/b']],
    ['host', 'host', ['::2', '::2'], ['::1', '::1'], ['0.0.0.0', '0.0.0.0']],
    ['port', 'port', [82, 82], ['81', 81], ['0', 0]],
    [
      'as-of',
      'asOfS',
      ['2026-11-14', 1_794_614_400],
      ['1794659696', 1_794_659_696],
      ['2026-11-14T12:34:56Z', 1_794_659_696],
    ],
    ['threads', 'threads', [2, 2], ['3', 3], ['1', 1]],
    ['stale-after', 'staleAfterS', ['90s', 90], ['15m', 900], ['7d', 604_800]],
    ['stale_after', 'staleAfterS', [120, 120], ['15m', 900], ['7d', 604_800]],
    [
      'cors-origin',
      'corsOrigins',
      [['http://b:3000'], ['http://b:3000']],
      ['https://a.example, *', ['https://a.example', '*']],
      ['https://c.example', ['https://c.example']],
    ],
    ['lenient-parameters', 'lenientParameters', [true, true], ['false', false], ['', true]],
  ])('%s comes from the flag, else the variable, else the file', (name, option, ...given) => {
    const [[inFile, fromFile], [inVariable, fromVariable], [inFlag, fromFlag]] = given;
    const key = name.replace('_', '-');
    const config = { [name]: inFile };
    const env = { [variableOf(key)]: inVariable };
    const words = [inFlag === '' ? `--${key}` : `--${key}=${inFlag}`];
    expect(optionsOf({ config })[option]).toEqual(fromFile);
    expect(optionsOf({ config, env })[option]).toEqual(fromVariable);
    expect(optionsOf({ config, env, words })[option]).toEqual(fromFlag);
    expect(optionsOf({ config, words })[option]).toEqual(fromFlag);
  });

  it('may be given several times if it is a list', () => {
    const words = ['--cors-origin', 'https://a.example', '--cors-origin', 'http://b:3000'];
    expect(optionsOf({ words }).corsOrigins).toEqual(['https://a.example', 'http://b:3000']);
  });

  const DURATION = 'expected a duration from 1s to 36500d';
  it.each<[Given, string | RegExp]>([
    [
      { words: ['--port', '65536'] },
      /^--port: expected a whole number from 0 to 65535, not 65536$/,
    ],
    [{ words: ['--port', ''] }, /^--port: expected a value, not an empty/],
    [{ env: { FATHOM_PORT: 'http' } }, /^FATHOM_PORT: expected a whole number from .*, not http$/],
    [{ words: ['--as-of', 'yesterday'] }, /^--as-of: /],
    [{ words: ['--as-of', '1794659696000'] }, /^--as-of: /],
    [{ env: { FATHOM_AS_OF: '2026-11-14T12:00:00' } }, /^FATHOM_AS_OF: /],
    [{ words: ['--threads', '0'] }, /^--threads: /],
    [
      { env: { FATHOM_LENIENT_PARAMETERS: 'yes' } },
      /^FATHOM_LENIENT_PARAMETERS: expected true or f/,
    ],
    [
      { words: ['--cors-origin', 'https://A.example:443/app'] },
      /^--cors-origin: expected an origin .*, not '.*'; did you mean https:\/\/a\.example\?$/,
    ],
    [
      { words: ['--cors-origin', 'https://a.example', '--cors-origin', 'a.example'] },
      /not 'a\.example'$/,
    ],
    [{ words: ['--cors-origin', 'null'] }, /^--cors-origin: expected an origin/],
    [
      { words: ['--cors-origin', 'https://*.a.example'] },
      /^--cors-origin: .*, not '.*a\.example'$/,
    ],
    [{ words: ['--cors-origin', 'https://a.example,https://b.example'] }, /not '.*b\.example'$/],
    [{ words: ['--cors-origin', ''] }, /^--cors-origin: expected a value, not an empty/],
    [
      { env: { FATHOM_CORS_ORIGIN: 'https://a.example,,*' } },
      /^FATHOM_CORS_ORIGIN: expected an orig/,
    ],
    [{ words: ['extra'] }, /^unexpected extra: expected only flags$/],
    [{ words: ['--verbose'] }, /^unknown flag --verbose$/],
    [{ words: ['--thread', '2'] }, /^unknown flag --thread; did you mean --threads\?$/],
    [{ env: { FATHOM_CONFIG: '/nowhere.json' } }, /^FATHOM_CONFIG: \/nowhere\.json: no such file$/],
    [{ env: { FATHOM_CONFIG: '/' } }, /^FATHOM_CONFIG: \/: expected a file, found a directory$/],
    [{ config: { portt: 1 } }, /config\.json: portt: expected one of data, host, port/],
    ...['0', '1.5h', '-1h', 'hour', '36501d', '1h30m'].map((wrong): [Given, string] => [
      { env: { FATHOM_STALE_AFTER: wrong } },
      `FATHOM_STALE_AFTER: ${DURATION}, such as 90s, 15m or 2h, not ${wrong}`,
    ]),
    [{ config: { stale_after: 'x' } }, 'config.json: stale_after: expected a duration'],
    [{ config: { stale_after: '1h', 'stale-after': '1h' } }, 'stale-after: given twice'],
    // uWebSockets.js listens on a free port of every address if the host is empty.
    ...['host', 'admin-host', 'data'].flatMap((name): [Given, string][] => [
      [{ words: [`--${name}=`] }, `--${name}: expected a value, not an empty text`],
      [{ config: { [name]: '' } }, `${name}: expected a value, not an empty text`],
    ]),
    [
      { words: ['--port=8081', '--admin-port=8081'] },
      "--admin-port: expected a port other than the API's, 8081",
    ],
    [{ words: ['--admin-host=0.0.0.0'] }, '--admin-host: needs --admin-port'],
    ...(
      [
        [{ daily: '30d' }, 'retention.daily: expected one of raw, 15m, 1h'],
        [{ raw: '1.5d' }, `retention.raw: ${DURATION}`],
        [{ raw: '0d' }, `retention.raw: ${DURATION}`],
        // Seconds, or meant as days?
        [
          { raw: '30' },
          'retention.raw: expected a duration with its unit, such as "30d", not "30"',
        ],
        [{ raw: 30 }, 'retention.raw: expected a duration with its unit, such as "30d", not 30'],
        [
          { raw: null },
          'retention.raw: expected a duration with its unit, such as "30d", not null',
        ],
        ['30d', 'retention: expected an object with raw, 15m, 1h'],
      ] as const
    ).map(([retention, message]): [Given, string] => [{ config: { retention } }, message]),
  ])('that is wrong is refused with its source: %j', (given, message) => {
    expect(() => optionsOf(given)).toThrow(UsageError);
    expect(() => optionsOf(given)).toThrow(message);
  });

  it('of addresses may be a separate port for --admin-port', () => {
    const words = ['--port=0', '--admin-port=0', '--admin-host=::1'];
    expect(optionsOf({ words }).admin).toEqual({ host: '::1', port: 0 });
  });

  it('of retention has a duration for each tier that is not kept forever', () => {
    const retention = (value: unknown) => optionsOf({ config: { retention: value } }).retention;
    const kept = { raw: '30d', '15m': '26w', '1h': '9000h' };
    expect(retention(kept)).toEqual({ raw: 2_592_000, '15m': 15_724_800, '1h': 32_400_000 });
    expect(retention({ '1h': '90s' })).toEqual({ '1h': 90 });
    expect(retention({})).toEqual({});
  });
});

describe('The servers of a cluster', () => {
  const CLUSTER = '--node=a --cluster';
  const optionsOf = (line: string) => settingsOf(line.split(' '));

  it('use TLS either all or none, and need it for certificate files', () => {
    const own = 'README.md';
    const words = `--cluster-ca=${own} --cluster-cert=${own} --cluster-key=${own}`;
    const { cluster } = optionsOf(`${CLUSTER}=tls://x:1,tls://y:1 ${words}`);
    const file = path.resolve(own);
    expect(cluster?.access).toEqual({
      servers: ['tls://x:1', 'tls://y:1'],
      credentials: null,
      ca: file,
      cert: file,
      key: file,
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

  it('of a cluster are unchanged if only the version of a node has changed', () => {
    const options = optionsOf('--port=2');
    const own = sharedSettingsOf(options);
    // As a version without `retention`, and without limits of connections, has stored them, or one with a setting more.
    const older = JSON.parse(JSON.stringify({ ...own, 'later-one': 1 })) as Record<string, object>;
    delete older.retention;
    for (const plan of Object.values(older.plans))
      delete (plan as { connections?: number }).connections;
    expect(sharedSettingsOf(withSharedSettings(options, older))).toEqual(own);
  });

  it.each([
    ['plans', { premium: { unheard_of: 1 } }, 'premium.unheard_of: '],
    ['stale-after', 'soon', 'expected a duration from 1s to 36500d'],
    ['stale-after', null, 'expected a text or a number'],
    ['retention', { raw: 5 }, 'raw: expected a duration with its unit'],
    ['quote-tokens', 'x', 'expected base58 mints'],
    ['lenient-parameters', 'maybe', 'expected true or false'],
  ])('of a newer cluster are refused with advice: %s %j', (name, value, fault) => {
    const own = optionsOf('--port=2');
    const read = () => withSharedSettings(own, { ...sharedSettingsOf(own), [name]: value });
    expect(read).toThrow(`the cluster's ${name}`);
    expect(read).toThrow(fault);
    expect(read).toThrow(/\na node of a newer version has changed them: upgrade this node$/);
  });

  it('of a cluster are given by their names, with values as in the configuration', () => {
    const given = [
      'stale-after=120m',
      'native_code=XYZ',
      'lenient-parameters=true',
      'evm-chain-id=56',
      'retention={"raw":"720h","1h":"90s"}',
      'plans={"premium":{"monthly_quota":5}}',
      `quote-tokens=${MINT} , ${OTHER_MINT}`,
    ];
    const settings = readAssignments(given);
    expect(settings).toMatchObject({
      'stale-after': '2h',
      'native-code': 'XYZ',
      'lenient-parameters': true,
      'evm-chain-id': 56,
      retention: { raw: '30d', '1h': '90s' },
      'quote-tokens': `${MINT},${OTHER_MINT}`,
    });
    const options = withSharedSettings(optionsOf('--port=2'), settings);
    expect(options).toMatchObject({ staleAfterS: 7200, quotes: [MINT, OTHER_MINT] });
    expect(options.plans.premium.monthlyQuota).toBe(5);
    // What is shown can be given again.
    const shown = Object.entries(sharedSettingsOf(options));
    const again = readAssignments(shown.map(([name, value]) => `${name}=${settingText(value)}`));
    expect(again).toEqual(Object.fromEntries(shown));
  });

  it.each([
    ['stale-after', 'stale-after: expected NAME=VALUE with NAME one of stale-after, native-code,'],
    ['', ': expected NAME=VALUE with NAME one of stale-after'],
    ['=1', ': expected NAME one of stale-after'],
    ['stale-after=', 'stale-after: expected a value, not an empty text'],
    ['stale-after=-1', 'stale-after: expected a duration from 1s to 36500d, such as 90s, 15m or'],
    ['stale-after= 1h', 'stale-after: expected a duration'],
    ['stale-aftr=1h', 'stale-aftr: expected NAME one of'],
    ['stale-aftr=1h', '; did you mean stale-after?'],
    ['STALE-AFTER=1h', 'STALE-AFTER: expected NAME one of'],
    ['__proto__=1', '__proto__: expected NAME one of'],
    ['threads=2', 'threads: each node has its own, in its configuration; expected NAME one of'],
    ['cluster_replicas=2', 'cluster_replicas: each node has its own'],
    ['lenient-parameters=yes', 'lenient-parameters: expected true or false, not yes'],
    ['evm-chain-id=1.5', 'evm-chain-id: expected a whole number from 1 to'],
    ['retention={"raw":30}', 'retention.raw: expected a duration with its unit'],
    ['retention={"raw":"1d","raw":"2d"}', 'retention: raw: given twice'],
    ['plans={', 'plans: expected JSON: '],
    ['plans=[]', 'plans: expected an object with plans by their names'],
    ['native-mint=0x00', 'native-mint: expected a base58 mint, not 0x00'],
  ])('of a cluster are refused if malformed: %s', (text, fault) => {
    expect(() => readAssignments([text])).toThrow(fault);
  });

  it('of a cluster are refused together, with a line for each fault', () => {
    const read = () =>
      readAssignments(['evm-chain-id=0', 'stale_after=1h', 'stale-after=1h', 'plans=1']);
    expect(read).toThrow(
      /^evm-chain-id: expected .*\nstale-after: given twice\nplans: expected an object .*$/,
    );
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

describe('fathom config', () => {
  const config = (words: string, settings: object, env: Record<string, string> = {}) => {
    writeFileSync(file, JSON.stringify(settings));
    return fathom(`config ${words}`.trim().split(' '), { FATHOM_CONFIG: file, ...env });
  };

  it('is not the only command that refuses a key that names no setting', async () => {
    const wrong = { archive: { url: 's3://days/x', endpiont: 'http://127.0.0.1:1' } };
    writeFileSync(file, JSON.stringify(wrong));
    const reply = await fathom(['archive', 'status'], { FATHOM_CONFIG: file });
    expect(reply.status).toBe(2);
    expect(reply.stderr).toMatch(
      /archive\.endpiont: expected one of archive\.url, archive\.endpoint, archive\.region, archive\.credentials, archive\.after, archive\.grace, archive\.cache-gib; did you mean archive\.endpoint\?/,
    );
  });

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
        Gold: { tier: 'premium', rpm: -1, quota: 1.5, connections: 'x', depth: 'slow', foo: 1 },
      },
      retention: { raw: 3, day: '1d' },
      admin_host: '1.2.3.4',
    };
    const reply = await config('--host= --port 99999 --http-engine x', settings, {
      FATHOM_LOG_LEVEL: 'loud',
    });
    expect(reply.status).toBe(2);
    const expected = [
      `fathom: ${file}: portt: expected one of data, host, port,`,
      `${file}: stale_after: expected a text or a number`,
      '--host: expected a value, not an empty text',
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
      `${file}: plans: Gold: expected a plan's name`,
      `${file}: plans: Gold.rpm: expected a whole number`,
      `${file}: plans: Gold.quota: expected a whole number`,
      `${file}: plans: Gold.connections: expected a whole number`,
      `${file}: plans: Gold.depth: expected "live" or "delayed"`,
      `${file}: plans: Gold.foo: expected one of tier, rpm, quota, connections, depth, rates`,
      `${file}: retention.raw: expected a duration with its unit`,
      `${file}: retention.day: expected one of raw, 15m, 1h`,
      `${file}: admin_host: needs --admin-port`,
      'See fathom help config',
    ];
    const lines = reply.stderr.trimEnd().split('\n');
    expect(lines.map((line, i) => line.slice(0, expected[i]?.length))).toEqual(expected);
  });

  it('reports a file that is not JSON', async () => {
    writeFileSync(file, '{"port": 1,}');
    const { status, stderr } = await fathom(['config'], { FATHOM_CONFIG: file });
    expect([status, stderr]).toEqual([2, expect.stringMatching(/config.json: expected JSON: .+/)]);
  });

  it('refuses a file that has a key twice, and names each such key', async () => {
    writeFileSync(
      file,
      `{"port": 1, "cors-origin": ["{\\"", "port"], "p\\u006frt": 2, "host": "port",
        "retention": {"raw": "1d", "1h": "2d"},
        "plans": {"premium": {"quota": 1}, "enterprise": {"quota": 1, "depth": "live", "quota" : 2}}}`,
    );
    const { status, stderr } = await fathom(['config'], { FATHOM_CONFIG: file });
    expect([status, stderr]).toEqual([
      2,
      `fathom: ${file}: port: given twice
${file}: plans.enterprise.quota: given twice
See fathom help config
`,
    ]);
  });
});
