/**
 * The settings of `fathom serve`. Each is declared once, as a flag; its variable and config key follow
 * from the declaration, too.
 */
import path from 'node:path';
import { DEFAULT_EVM_CHAIN_ID } from '../api/chain.js';
import type { NativeCurrency } from '../services.js';
import { ENGINE_NAMES } from '../http/engine.js';
import { MAX_ADDRESS_RATE, MAX_PROXY_HOPS } from '../limits/addresses.js';
import { DEFAULT_PLANS, parsePlans, plansDocument } from '../limits/plans.js';
import { LOG_FORMATS, LOG_LEVELS } from '../logger.js';
import { DEFAULT_MEMORY_MIB } from '../memory.js';
import { ARCHIVE_SETTINGS } from './archive-settings.js';
import { CLUSTER_SETTINGS } from './cluster-settings.js';
import { JSON_DOCUMENT } from './config-file.js';
import { flagsOf, type Setting, variableOf } from './effective-settings.js';
import { duration, instant, wholeNumber } from './flags.js';
import {
  currencyCode,
  GIB,
  gibibytes,
  memoryShare,
  mint,
  quoteMints,
  readRetention,
  webOrigin,
  whole,
} from './setting-readers.js';

/** Default of mainchain's native token. */
export const DEFAULT_NATIVE: NativeCurrency = {
  code: 'SOL',
  mint: 'So11111111111111111111111111111111111111112',
};

const MAX_PORT = 65_535;
const MAX_THREADS = 256;
const MAX_EVM_CHAIN_ID = 2 ** 48;
const MAX_MEMORY_MIB = 2 ** 20;
const DEFAULT_FRAGMENTS_GIB = 4;
const MAX_FRAGMENTS_GIB = 1024;
const DEFAULT_STALE_AFTER = '1h';
const MAX_STALE_AFTER = '36500d';
const MAX_STOP_DELAY = '5m';

const FLAGS = {
  data: {
    placeholder: 'DIR',
    meaning: 'data directory',
    default: './data',
    names: 'directory',
    fallback: 'data',
    document: (directory: string) => path.resolve(directory),
  },
  host: {
    placeholder: 'H',
    meaning: 'address to listen on',
    default: '127.0.0.1',
    fallback: '127.0.0.1',
  },
  port: whole('P', 'port; 0 takes a free one and logs it', 8080, 0, MAX_PORT),
  'as-of': {
    placeholder: 'TIME',
    meaning:
      "freezes the server's clock at a time: RFC 3339, a date, epoch seconds, or one before now such as -7d",
    default: 'off',
    fallback: null,
    read: instant,
  },
  'stale-after': {
    placeholder: 'DURATION',
    meaning: `greatest age of a newest snapshot, such as 90s, 15m or 7d, at most ${MAX_STALE_AFTER}; a score based on an older one is stale, and left out of /top-scores`,
    default: DEFAULT_STALE_AFTER,
    fallback: duration(DEFAULT_STALE_AFTER, 'default', MAX_STALE_AFTER),
    read: (text: string, from: string) => duration(text, from, MAX_STALE_AFTER),
  },
  threads: {
    placeholder: 'N',
    meaning: `worker threads, 1 to ${MAX_THREADS}`,
    default: 'one per core',
    fallback: null,
    read: (text: string, from: string) => wholeNumber(text, from, 1, MAX_THREADS),
  },
  'native-code': {
    placeholder: 'C',
    meaning: "code of mainchain's native token in `currency`",
    default: DEFAULT_NATIVE.code,
    fallback: DEFAULT_NATIVE.code,
    read: currencyCode,
  },
  'native-mint': {
    placeholder: 'M',
    meaning: 'mint of the native token',
    default: DEFAULT_NATIVE.mint,
    fallback: DEFAULT_NATIVE.mint,
    read: mint,
  },
  'quote-tokens': {
    placeholder: 'M,M',
    meaning:
      'mints, separated by commas, that count as the quote side of a pool; if a pool has two of them, the first in the list',
    default: 'USDC, USDT, the native mint',
    fallback: null,
    read: quoteMints,
  },
  'admin-port': {
    placeholder: 'N',
    meaning:
      "serves /healthz, /readyz and /metrics on a separate port instead of the API's; 0 takes a free one",
    default: 'the port of the API',
    fallback: null,
    read: (text: string, from: string) => wholeNumber(text, from, 0, MAX_PORT),
  },
  'admin-host': {
    placeholder: 'H',
    meaning: 'address to listen on for --admin-port',
    default: '127.0.0.1',
    fallback: '127.0.0.1',
  },
  'log-level': {
    placeholder: 'LEVEL',
    meaning: 'lowest level that is logged',
    default: 'info',
    values: LOG_LEVELS,
    fallback: 'info',
  },
  'log-format': {
    placeholder: 'FORMAT',
    meaning: 'form of the log: one JSON object per line, or text for people',
    default: 'pretty on a terminal, otherwise json',
    values: LOG_FORMATS,
    fallback: null,
  },
  'http-engine': {
    placeholder: 'E',
    meaning: `HTTP engine: uws (uWebSockets.js) or node (Node's own, which is also used if uWebSockets.js does not load)`,
    default: 'uws',
    fallback: 'uws',
    values: ENGINE_NAMES,
  },
  'stop-delay': {
    placeholder: 'DURATION',
    meaning: `how long a server keeps taking requests after a stop signal, while /readyz reports that it is stopping, such as 10s, at most ${MAX_STOP_DELAY}; for balancers that poll /readyz`,
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
  'fragments-memory-mib': memoryShare(
    'MiB of --memory-mib for fragments of pages; 0 turns them off',
    MAX_MEMORY_MIB,
  ),
  'fragments-disk-gib': {
    placeholder: 'N',
    meaning: `GiB of the store's disk that fragments of pages may take, such as 4 or 0.5, at most ${MAX_FRAGMENTS_GIB}; 0 keeps none there`,
    default: String(DEFAULT_FRAGMENTS_GIB),
    fallback: DEFAULT_FRAGMENTS_GIB * GIB,
    read: (text: string, from: string) => gibibytes(text, from, MAX_FRAGMENTS_GIB),
    document: (bytes: number) => bytes / GIB,
  },
  'blocks-memory-mib': memoryShare(
    'MiB of --memory-mib for blocks of segments that pages used; 0 keeps none',
    MAX_MEMORY_MIB,
  ),
  'lenient-parameters': {
    meaning: 'ignores unknown query parameters instead of refusing them',
    default: 'off',
  },
  'address-rate': {
    placeholder: 'N',
    meaning:
      'requests per second that one client address (for IPv6, one /64) may send below /api/v1, whatever its key; further ones get 429',
    default: 'no limit',
    fallback: null,
    read: (text: string, from: string) => wholeNumber(text, from, 1, MAX_ADDRESS_RATE),
  },
  'trust-proxy': {
    placeholder: 'N',
    meaning:
      "number of proxies in front that append to X-Forwarded-For: --address-rate takes the Nth address from its end as the client's; none: the connection's address",
    default: 'none',
    fallback: 0,
    read: (text: string, from: string) =>
      text === 'none' ? 0 : wholeNumber(text, from, 0, MAX_PROXY_HOPS),
  },
  'cors-origin': {
    repeated: true,
    placeholder: 'ORIGIN',
    meaning:
      'origin of web pages whose scripts may read replies (`https://app.example.com`), or * for any',
    default: 'none',
    read: webOrigin,
  },
  ...ARCHIVE_SETTINGS,
  ...CLUSTER_SETTINGS,
} as const satisfies Record<string, Setting>;

/** These have no flag: a JSON object in the config file, JSON text in the variable. */
const PLANS = {
  placeholder: JSON_DOCUMENT,
  meaning: 'JSON that overrides parts of the plans',
  default: 'the plans of docs/api.md',
  fallback: DEFAULT_PLANS,
  read: parsePlans,
  document: plansDocument,
} as const satisfies Setting;

const RETENTION = {
  placeholder: JSON_DOCUMENT,
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
export type SettingName = keyof typeof SETTINGS;

/** The settings that change replies: the nodes of a cluster share them. */
export const SHARED_NAMES = [
  'stale-after',
  'native-code',
  'native-mint',
  'quote-tokens',
  'evm-chain-id',
  'lenient-parameters',
  'retention',
  'plans',
] as const satisfies readonly SettingName[];

/** The flags of `serve` and `start`. */
export const SERVE_FLAGS = flagsOf(FLAGS);

/** Variables of `serve` and `start` that stand for no flag. */
export const SERVE_ENVIRONMENT = {
  [variableOf('plans')]: PLANS.meaning,
  [variableOf('retention')]: RETENTION.meaning,
  FATHOM_CONFIG: 'the config file (default: fathom.config.json, if it exists)',
};
