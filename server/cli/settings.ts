/**
 * The settings of `fathom serve`. Each is declared once, as a flag; its variable and config key follow
 * from the declaration, too.
 */
import path from 'node:path';
import { chainOfAddress, TIERS } from '../../compute/market.js';
import type { Retention } from '../../storage/depth/retention-steps.js';
import { allOf, UsageError } from '../../storage/errors.js';
import { DEFAULT_EVM_CHAIN_ID } from '../api/chain.js';
import type { NativeCurrency } from '../depth/market-depth.js';
import { MAX_ADDRESS_RATE, MAX_PROXY_HOPS } from '../limits/addresses.js';
import {
  DEFAULT_PLANS,
  parseJson,
  parsePlans,
  plansDocument,
  readFields,
  type Plans,
} from '../limits/plans.js';
import { defaultQuoteTokens } from '../../compute/lp/dlmm-pool.js';
import { ANY_ORIGIN } from '../http/cors.js';
import { ENGINE_NAMES, type EngineName } from '../http/engine.js';
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '../log.js';
import { checkAccess, CLUSTER_SETTINGS, clusterOf } from './cluster-settings.js';
import {
  type Effective,
  effectiveSetting,
  effectiveSettings,
  type Setting,
  variableOf,
} from './effective-settings.js';
import {
  DEFAULT_MEMORY_MIB,
  defaultThreads,
  divideMemory,
  leastMemoryMib,
  MAX_COLUMNS_MIB,
  type Shares,
} from '../memory.js';
import { duration, type FlagValues, instant, oneOf, wholeNumber } from './flags.js';

/** Default of mainchain's native token. */
export const DEFAULT_NATIVE: NativeCurrency = {
  code: 'SOL',
  mint: 'So11111111111111111111111111111111111111112',
};

const MAX_PORT = 65_535;
const MAX_THREADS = 256;
const MAX_EVM_CHAIN_ID = 2 ** 48;
const MAX_QUOTE_TOKENS = 100;
const MIB = 2 ** 20;
const GIB = 2 ** 30;
const MAX_MEMORY_MIB = 2 ** 20;
const DEFAULT_FRAGMENTS_GIB = 4;
const MAX_FRAGMENTS_GIB = 1024;
/** Whole numbers, or with up to three decimals. */
const GIBIBYTES = /^[0-9]{1,4}(\.[0-9]{1,3})?$/;
const DEFAULT_STALE_AFTER = '1h';
const MAX_STALE_AFTER = '36500d';
const MAX_RETENTION = '36500d';
const MAX_STOP_DELAY = '5m';
/** A currency code, as a client sends it in `currency`. */
const CODE = /^[A-Z0-9]{2,16}$/;

type SettingValue<S> = S extends { kind: 'switch' }
  ? boolean
  : S extends { kind: 'texts'; read: (text: string, from: string) => infer T }
    ? readonly T[]
    : S extends { fallback: infer D; read: (text: string, from: string) => infer T }
      ? T | D
      : never;

const FLAGS = {
  data: {
    kind: 'text',
    placeholder: 'DIR',
    meaning: 'data directory',
    default: './data',
    names: 'directory',
    fallback: 'data',
    read: (text: string) => text,
    document: (directory: string) => path.resolve(directory),
  },
  host: {
    kind: 'text',
    placeholder: 'H',
    meaning: 'address to listen on',
    default: '127.0.0.1',
    fallback: '127.0.0.1',
    read: (text: string) => text,
  },
  port: whole('P', 'port; 0 takes a free one and logs it', 8080, 0, MAX_PORT),
  'as-of': {
    kind: 'text',
    placeholder: 'TIME',
    meaning:
      "freezes the service's clock at a time: RFC 3339, a date, epoch seconds, or one before now such as -7d",
    default: 'off',
    fallback: null,
    read: instant,
  },
  'stale-after': {
    kind: 'text',
    placeholder: 'DURATION',
    meaning: `greatest age of a newest snapshot, such as 90s, 15m or 7d, at most ${MAX_STALE_AFTER}; a score that rests on an older one is stale, and left out of /top-scores`,
    default: DEFAULT_STALE_AFTER,
    fallback: duration(DEFAULT_STALE_AFTER, 'default', MAX_STALE_AFTER),
    read: (text: string, from: string) => duration(text, from, MAX_STALE_AFTER),
  },
  threads: {
    kind: 'text',
    placeholder: 'N',
    meaning: `worker threads, 1 to ${MAX_THREADS}`,
    default: 'one per core',
    fallback: null,
    read: (text: string, from: string) => wholeNumber(text, from, 1, MAX_THREADS),
  },
  'native-code': {
    kind: 'text',
    placeholder: 'C',
    meaning: "code of mainchain's native token in `currency`",
    default: DEFAULT_NATIVE.code,
    fallback: DEFAULT_NATIVE.code,
    read: currencyCode,
  },
  'native-mint': {
    kind: 'text',
    placeholder: 'M',
    meaning: 'mint of the native token',
    default: DEFAULT_NATIVE.mint,
    fallback: DEFAULT_NATIVE.mint,
    read: mint,
  },
  'quote-tokens': {
    kind: 'text',
    placeholder: 'M,M',
    meaning:
      'mints, separated by commas, that count as the quote side of a pool; if a pool has two of them, the first in the list',
    default: 'USDC, USDT, the native mint',
    fallback: null,
    read: quoteMints,
  },
  'admin-port': {
    kind: 'text',
    placeholder: 'N',
    meaning:
      'serves /healthz, /readyz and /metrics on a separate port and no longer on that of the API; 0 takes a free one',
    default: 'the port of the API',
    fallback: null,
    read: (text: string, from: string) => wholeNumber(text, from, 0, MAX_PORT),
  },
  'admin-host': {
    kind: 'text',
    placeholder: 'H',
    meaning: 'address to listen on for --admin-port',
    default: '127.0.0.1',
    fallback: '127.0.0.1',
    read: (text: string) => text,
  },
  'log-level': {
    kind: 'text',
    placeholder: 'LEVEL',
    meaning: 'lowest level that is logged',
    default: 'info',
    values: LOG_LEVELS,
    fallback: 'info',
    read: (text: string, from: string) => oneOf(text, from, LOG_LEVELS),
  },
  'log-format': {
    kind: 'text',
    placeholder: 'FORMAT',
    meaning: 'form of the log: one JSON object per line, or text for people',
    default: 'pretty on a terminal, otherwise json',
    values: LOG_FORMATS,
    fallback: null,
    read: (text: string, from: string) => oneOf(text, from, LOG_FORMATS),
  },
  'http-engine': {
    kind: 'text',
    placeholder: 'E',
    meaning: `HTTP engine: uws (uWebSockets.js) or node (Node's own, which is also used if uWebSockets.js does not load)`,
    default: 'uws',
    fallback: 'uws',
    values: ENGINE_NAMES,
    read: (text: string, from: string) => oneOf(text, from, ENGINE_NAMES),
  },
  'stop-delay': {
    kind: 'text',
    placeholder: 'DURATION',
    meaning: `how long a server that is told to stop still takes requests, while /readyz reports that it is stopping, such as 10s, at most ${MAX_STOP_DELAY}: for balancers that poll /readyz`,
    default: 'none',
    fallback: 0,
    read: (text: string, from: string) => duration(text, from, MAX_STOP_DELAY),
  },
  'evm-chain-id': whole(
    'N',
    'the numeric chain id that `chain` of `/score/:address` takes for evmchain',
    DEFAULT_EVM_CHAIN_ID,
    1,
    MAX_EVM_CHAIN_ID,
  ),
  'memory-mib': whole(
    'N',
    'MiB of memory for the whole process: its threads, and all caches, which share what is left',
    DEFAULT_MEMORY_MIB,
    1,
    MAX_MEMORY_MIB,
  ),
  'fragments-memory-mib': mebibytes(
    'MiB of that for fragments of pages; 0 turns them off',
    MAX_MEMORY_MIB,
  ),
  'fragments-disk-gib': {
    kind: 'text',
    placeholder: 'N',
    meaning: `GiB of the store's disk that fragments of pages may take, such as 4 or 0.5, at most ${MAX_FRAGMENTS_GIB}; 0 keeps none there`,
    default: String(DEFAULT_FRAGMENTS_GIB),
    fallback: DEFAULT_FRAGMENTS_GIB * GIB,
    read: gibibytes,
    document: (bytes: number) => bytes / GIB,
  },
  'columns-memory-mib': mebibytes(
    `MiB of that for decoded cells of segments, at most ${MAX_COLUMNS_MIB}; 0 keeps none`,
    MAX_COLUMNS_MIB,
  ),
  'lenient-parameters': {
    kind: 'switch',
    meaning: 'ignores unknown query parameters instead of refusing them',
    default: 'off',
  },
  'address-rate': {
    kind: 'text',
    placeholder: 'N',
    meaning:
      'requests per second that one client address (for IPv6, one /64) may send below /api/v1, whatever its key; further ones get 429',
    default: 'no limit',
    fallback: null,
    read: (text: string, from: string) => wholeNumber(text, from, 1, MAX_ADDRESS_RATE),
  },
  'trust-proxy': {
    kind: 'text',
    placeholder: 'N',
    meaning:
      "number of proxies in front that append to X-Forwarded-For: --address-rate takes the Nth address from its end as the client's; none: the connection's address",
    default: 'none',
    fallback: 0,
    read: (text: string, from: string) =>
      text === 'none' ? 0 : wholeNumber(text, from, 0, MAX_PROXY_HOPS),
  },
  'cors-origin': {
    kind: 'texts',
    placeholder: 'ORIGIN',
    meaning:
      'origin of web pages whose scripts may read replies (`https://app.example.com`), or * for any',
    default: 'none',
    read: webOrigin,
  },
  ...CLUSTER_SETTINGS,
} as const satisfies Record<string, Setting>;

/** These have no flag: a JSON object in the config file, JSON text in the variable. */
const PLANS = {
  kind: 'text',
  meaning: 'JSON that overrides parts of the plans',
  default: 'the plans of docs/api.md',
  fallback: DEFAULT_PLANS,
  read: parsePlans,
  document: plansDocument,
} as const satisfies Setting;

const RETENTION = {
  kind: 'text',
  meaning: 'JSON with the time for which depth of each tier is kept, such as {"raw":"30d"}',
  default: 'forever',
  fallback: {},
  read: readRetention,
} as const satisfies Setting;

/**
 * Every setting, by flag without its dashes. That is also the key in the config file, where underscores
 * may stand for dashes.
 */
export const SETTINGS = { ...FLAGS, plans: PLANS, retention: RETENTION };
type SettingName = keyof typeof SETTINGS;

/**
 * The flags of `serve` and `start`, with their variables. Their texts are read with those of the variables
 * and the config file, so that one error reports all faults.
 */
export const SERVE_FLAGS = Object.fromEntries(
  Object.entries(FLAGS).map(([name, flag]) => [
    name,
    { ...flag, read: undefined, variable: variableOf(name) },
  ]),
) as unknown as {
  [N in keyof typeof FLAGS]: Omit<(typeof FLAGS)[N], 'read'> & { readonly variable: string };
};

/** Variables of `serve` and `start` that stand for no flag. */
export const SERVE_ENVIRONMENT = {
  [variableOf('plans')]: PLANS.meaning,
  [variableOf('retention')]: RETENTION.meaning,
  FATHOM_CONFIG: 'the config file (default: fathom.config.json, if it exists)',
};

export interface ServeOptions {
  directory: string;
  /** Whether a damaged log of the database is cut, instead of being refused. */
  acceptDamagedLog?: boolean;
  host: string;
  port: number;
  /** Epoch seconds at which the service's clock is frozen; null: it runs. */
  asOfS: number | null;
  /** Greatest age of a newest snapshot that is not stale. */
  staleAfterS: number;
  /** Worker threads. */
  threads: number;
  plans: Plans;
  native: NativeCurrency;
  /** Mints that count as the quote side of a pool, by priority. */
  quotes: readonly string[];
  /** Numeric id of the EVM chain. */
  evmChainId: number;
  /** Memory of each share. */
  memory: Shares;
  /** Bytes that fragments may take on the store's disk; 0: none. */
  fragmentsDiskBytes: number;
  /** Where /healthz, /readyz and /metrics are; null: with the API. */
  admin: { host: string; port: number } | null;
  log: { level: LogLevel; format: LogFormat };
  engine: EngineName;
  /** How long the server takes requests after it was told to stop. */
  stopDelayS: number;
  lenientParameters: boolean;
  /** A limit by client address; null: none. */
  addressLimit: { requestsPerS: number; proxyHops: number } | null;
  /** Origins of web pages that may read replies. */
  corsOrigins: readonly string[];
  /** How long depth is kept. */
  retention: Retention;
  /** The cluster that the server is a node of; null: none. */
  cluster: ReturnType<typeof clusterOf>;
}

type ServeFlags = Partial<FlagValues<typeof SERVE_FLAGS>>;

/** The plans that keys can be given: the tiers, and those of the setting `plans`. @throws UsageError */
export function plansInEffect(): Plans {
  return effectiveSetting(SETTINGS, 'plans').value as Plans;
}

/** Every setting, and where it comes from. @throws UsageError with a line for each fault */
export function effective(flags: ServeFlags) {
  return effectiveSettings(SETTINGS, flags, (read) =>
    allOf([() => checkAdmin(read), () => checkMemory(read), () => checkCluster(read)]),
  );
}

/** @throws UsageError if the settings of the operators' port contradict others */
function checkAdmin(read: Partial<Record<SettingName, Effective>>): void {
  const { port, 'admin-port': adminPort, 'admin-host': adminHost } = read;
  if (adminPort === undefined) return;
  if (adminPort.value === null) {
    const { fallback } = SETTINGS['admin-host'];
    if (!adminHost?.given || adminHost.value === fallback) return;
    throw new UsageError(`${adminHost.given.from}: goes with --admin-port alone`);
  }
  if (adminPort.value !== 0 && adminPort.value === port?.value) {
    throw new UsageError(
      `${adminPort.given?.from}: expected another port than that of the API, ${adminPort.value as number}`,
    );
  }
}

/** @throws UsageError if the settings of a node of a cluster contradict one another */
function checkCluster(read: Partial<Record<SettingName, Effective>>): void {
  const { cluster, node } = read;
  if (cluster === undefined || node === undefined) return;
  const textOf = (name: SettingName) => (read[name]?.value ?? null) as string | null;
  checkAccess(
    {
      cluster: cluster.value as readonly string[] | null,
      'cluster-credentials': textOf('cluster-credentials'),
      'cluster-ca': textOf('cluster-ca'),
      'cluster-cert': textOf('cluster-cert'),
      'cluster-key': textOf('cluster-key'),
    },
    (name) => read[name]?.given?.from ?? `--${name}`,
  );
  if (cluster.value !== null && node.value === null) {
    throw new UsageError(`${cluster.given?.from}: needs --node, the name of this node`);
  }
  if (cluster.value === null && node.value !== null) {
    throw new UsageError(`${node.given?.from}: goes with --cluster alone`);
  }
}

/** @throws UsageError if the memory does not do for the threads and the shares that are given */
function checkMemory(read: Partial<Record<SettingName, Effective>>): void {
  const { 'memory-mib': memory, threads } = read;
  const { 'fragments-memory-mib': fragments, 'columns-memory-mib': columns } = read;
  if (!memory || !threads || !fragments || !columns) return;
  const memoryMib = memory.value as number;
  const given = givenShares(fragments.value as number | null, columns.value as number | null);
  const count = (threads.value as number | null) ?? defaultThreads(memoryMib, given);
  const leastMib = leastMemoryMib(count, given);
  if (memoryMib >= leastMib) return;
  const shares = Object.keys(given).length === 0 ? '' : ' and these shares';
  throw new UsageError(
    `${memory.given?.from ?? '--memory-mib'}: expected at least ${leastMib} for ${count} worker threads${shares}, not ${memoryMib}`,
  );
}

function givenShares(fragments: number | null, columns: number | null): Partial<Shares> {
  return {
    ...(fragments === null ? {} : { fragments }),
    ...(columns === null ? {} : { columns }),
  };
}

/** What a command takes where no setting says otherwise. */
interface Defaults {
  /** The most worker threads. */
  maxThreads?: number;
  logLevel?: LogLevel;
}

/**
 * The settings of `serve`.
 * @throws UsageError with a line for each fault
 */
export function serveOptions(
  flags: ServeFlags,
  { maxThreads = Infinity, logLevel = 'info' }: Defaults = {},
): ServeOptions {
  const { settings } = effective(flags);
  const valueOf = <N extends SettingName>(name: N) =>
    settings[name].value as SettingValue<(typeof SETTINGS)[N]>;
  const native = { code: valueOf('native-code'), mint: valueOf('native-mint') };
  const adminPort = valueOf('admin-port');
  const requestsPerS = valueOf('address-rate');
  const proxyHops = valueOf('trust-proxy');
  const memoryMib = valueOf('memory-mib');
  const given = givenShares(valueOf('fragments-memory-mib'), valueOf('columns-memory-mib'));
  const threads = valueOf('threads') ?? Math.min(maxThreads, defaultThreads(memoryMib, given));
  return {
    directory: path.resolve(valueOf('data')),
    host: valueOf('host'),
    port: valueOf('port'),
    asOfS: valueOf('as-of'),
    staleAfterS: valueOf('stale-after'),
    plans: valueOf('plans'),
    native,
    quotes: valueOf('quote-tokens') ?? defaultQuoteTokens(native.mint),
    evmChainId: valueOf('evm-chain-id'),
    threads,
    memory: divideMemory(memoryMib, threads, given),
    fragmentsDiskBytes: valueOf('fragments-disk-gib'),
    admin: adminPort === null ? null : { host: valueOf('admin-host'), port: adminPort },
    log: {
      level: settings['log-level'].given === null ? logLevel : valueOf('log-level'),
      format: valueOf('log-format') ?? (process.stderr.isTTY ? 'pretty' : 'json'),
    },
    engine: valueOf('http-engine'),
    stopDelayS: valueOf('stop-delay'),
    lenientParameters: valueOf('lenient-parameters'),
    addressLimit: requestsPerS === null ? null : { requestsPerS, proxyHops },
    corsOrigins: valueOf('cors-origin'),
    retention: valueOf('retention'),
    cluster: clusterOf({
      cluster: valueOf('cluster'),
      node: valueOf('node'),
      'cluster-replicas': valueOf('cluster-replicas'),
      'cluster-credentials': valueOf('cluster-credentials'),
      'cluster-ca': valueOf('cluster-ca'),
      'cluster-cert': valueOf('cluster-cert'),
      'cluster-key': valueOf('cluster-key'),
    }),
  };
}

function whole(placeholder: string, meaning: string, fallback: number, min: number, max: number) {
  const read = (text: string, from: string) => wholeNumber(text, from, min, max);
  return { kind: 'text', placeholder, meaning, default: String(fallback), fallback, read } as const;
}

/** A share of --memory-mib in MiB, read as bytes. */
function mebibytes(meaning: string, maxMib: number) {
  const read = (text: string, from: string) => MIB * wholeNumber(text, from, 0, maxMib);
  const shown = { placeholder: 'N', meaning, default: 'its share' };
  return { kind: 'text', ...shown, fallback: null, read } as const;
}

/** @returns bytes */
function gibibytes(text: string, from: string): number {
  const gib = GIBIBYTES.test(text) ? Number(text) : Infinity;
  if (gib <= MAX_FRAGMENTS_GIB) return Math.floor(gib * GIB);
  throw new UsageError(
    `${from}: expected a number of GiB from 0 to ${MAX_FRAGMENTS_GIB}, such as 4 or 0.5, not ${text}`,
  );
}

function currencyCode(code: string, from: string): string {
  if (CODE.test(code) && code !== 'USD') return code;
  throw new UsageError(`${from}: expected 2 to 16 of A-Z and 0-9, and not USD, not ${code}`);
}

function mint(address: string, from: string): string {
  if (chainOfAddress(address) === 'mainchain') return address;
  throw new UsageError(`${from}: expected a base58 mint, not ${address}`);
}

/** Characters of hosts that URL takes but no browser sends: wildcards, and the commas of a list. */
const NO_HOST = /[*,]/;

/** An origin as browsers send it: without a path, a default port or an upper-case letter. */
function webOrigin(text: string, from: string): string {
  if (text === ANY_ORIGIN) return text;
  const { protocol = '', origin = '' } = URL.canParse(text) ? new URL(text) : {};
  const isWeb = /^https?:$/.test(protocol) && !NO_HOST.test(text);
  if (isWeb && text === origin) return text;
  const hint = isWeb ? `; did you mean ${origin}?` : '';
  throw new UsageError(
    `${from}: expected an origin such as https://app.example.com, or *, not '${text}'${hint}`,
  );
}

/** @throws UsageError that names the tier and what was expected */
function readRetention(text: string, from: string): Retention {
  const read = ([tier, kept]: [string, unknown]): [string, number] => {
    // A number without a unit would be seconds: too easily taken for days.
    if (typeof kept === 'string' && /[a-z]$/.test(kept)) {
      return [tier, duration(kept, `${from}.${tier}`, MAX_RETENTION)];
    }
    throw new UsageError(
      `${from}.${tier}: expected a duration with its unit, such as "30d", not ${JSON.stringify(kept)}`,
    );
  };
  const given = (tiers: object) => Object.entries(tiers) as [string, unknown][];
  return readFields(parseJson(text, from), from, TIERS, (tiers): Retention =>
    Object.fromEntries(allOf(given(tiers).map((entry) => () => read(entry)))),
  );
}

function quoteMints(text: string, from: string): readonly string[] {
  const mints = text.split(',').map((item) => item.trim());
  const wrong = mints.find((item) => chainOfAddress(item) !== 'mainchain');
  if (wrong !== undefined) {
    throw new UsageError(`${from}: expected base58 mints separated by commas, not '${wrong}'`);
  }
  if (new Set(mints).size < mints.length) throw new UsageError(`${from}: expected each mint once`);
  if (mints.length <= MAX_QUOTE_TOKENS) return mints;
  throw new UsageError(`${from}: expected at most ${MAX_QUOTE_TOKENS} mints, not ${mints.length}`);
}
