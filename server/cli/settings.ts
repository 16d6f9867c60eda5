/**
 * The settings of `fathom serve`. Each is declared once; its flag, variable, config key, default and line
 * of help follow from the declaration.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { chainOfAddress } from '../../compute/market.js';
import { UsageError } from '../../storage/errors.js';
import { DEFAULT_EVM_CHAIN_ID } from '../api/chain.js';
import type { NativeCurrency } from '../depth/market-depth.js';
import { DEFAULT_PLANS, parsePlans, type Plans } from '../limits/plans.js';
import { defaultQuoteTokens } from '../../compute/lp/dlmm-pool.js';
import { FRAGMENTS_BYTES } from '../replay/fragments.js';
import { COLUMN_BYTES } from '../replay/segment-columns.js';
import { instant, readFlags, wholeNumber } from './flags.js';

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
const MAX_MEMORY_MIB = 2 ** 20;
/** The columns are in one ArrayBuffer. */
const MAX_COLUMNS_MIB = 2 ** 12;
/** A currency code, as a client sends it in `currency`. */
const CODE = /^[A-Z0-9]{2,16}$/;

interface Setting<T> {
  /** Placeholder of the value in the usage; null: the setting has no flag. */
  readonly placeholder: string | null;
  readonly meaning: string;
  /** The default as shown in the help. */
  readonly default: string;
  readonly fallback: T;
  /** Reads the value; `from` names the flag, variable or config key that it came from. */
  readonly read: (text: string, from: string) => T;
}

/** By flag without its dashes, which is also the key in the config file. */
const SETTINGS = {
  data: setting<string>({
    placeholder: 'DIR',
    meaning: 'data directory',
    default: './data',
    fallback: 'data',
    read: (text) => text,
  }),
  host: setting<string>({
    placeholder: 'H',
    meaning: 'address to listen on',
    default: '127.0.0.1',
    fallback: '127.0.0.1',
    read: (text) => text,
  }),
  port: whole('P', 'port; 0 takes a free one and logs it', 8080, 0, MAX_PORT),
  'as-of': setting<number | null>({
    placeholder: 'TIME',
    meaning: "freezes the service's clock at a time (RFC 3339 or epoch seconds)",
    default: 'off',
    fallback: null,
    read: instant,
  }),
  threads: setting<number | null>({
    placeholder: 'N',
    meaning: `worker threads, 1 to ${MAX_THREADS}`,
    default: 'one per core',
    fallback: null,
    read: (text, from) => wholeNumber(text, from, 1, MAX_THREADS),
  }),
  'native-code': setting<string>({
    placeholder: 'C',
    meaning: "what `currency` calls mainchain's native token",
    default: DEFAULT_NATIVE.code,
    fallback: DEFAULT_NATIVE.code,
    read: currencyCode,
  }),
  'native-mint': setting<string>({
    placeholder: 'M',
    meaning: 'mint of the native token',
    default: DEFAULT_NATIVE.mint,
    fallback: DEFAULT_NATIVE.mint,
    read: mint,
  }),
  'quote-tokens': setting<readonly string[] | null>({
    placeholder: 'M,M',
    meaning:
      'mints, separated by commas, that count as the quote side of a pool; if a pool has two of them, the first in the list',
    default: 'USDC, USDT, the native mint',
    fallback: null,
    read: quoteMints,
  }),
  'evm-chain-id': whole(
    'N',
    'the numeric chain id that `chain` of `/score/:address` takes for evmchain',
    DEFAULT_EVM_CHAIN_ID,
    1,
    MAX_EVM_CHAIN_ID,
  ),
  'fragments-memory-mib': mebibytes(
    'MiB of memory for fragments of pages; 0 turns them off',
    FRAGMENTS_BYTES,
    MAX_MEMORY_MIB,
  ),
  'columns-memory-mib': mebibytes(
    `MiB of memory for decoded cells of segments, at most ${MAX_COLUMNS_MIB}; 0 keeps none`,
    COLUMN_BYTES,
    MAX_COLUMNS_MIB,
  ),
  /** A JSON object in the config file, JSON text in the variable. */
  plans: setting<Plans>({
    placeholder: null,
    meaning: 'JSON that overrides parts of the plans',
    default: 'the plans of docs/api.md',
    fallback: DEFAULT_PLANS,
    read: parsePlans,
  }),
} as const;

type SettingName = keyof typeof SETTINGS;
type Config = Partial<Record<SettingName, string>>;

const NAMES = Object.keys(SETTINGS) as SettingName[];
const FLAGS = NAMES.filter((name) => SETTINGS[name].placeholder !== null);

/** The usage line of `serve`. */
export const SERVE_USAGE = [
  'fathom serve',
  ...FLAGS.map((name) => `[--${name} ${SETTINGS[name].placeholder}]`),
].join(' ');

/** A setting as the help and docs/operating.md show it. */
interface DescribedSetting {
  /** null: it has no flag. */
  flag: string | null;
  variable: string;
  default: string;
  meaning: string;
}

export const DESCRIBED_SETTINGS: readonly DescribedSetting[] = NAMES.map((name) => ({
  flag: SETTINGS[name].placeholder === null ? null : `--${name}`,
  variable: variableOf(name),
  default: SETTINGS[name].default,
  meaning: SETTINGS[name].meaning,
}));

/** The usage line and a line for each setting. */
export const SERVE_HELP = [
  SERVE_USAGE,
  ...DESCRIBED_SETTINGS.map(
    ({ flag, variable, meaning, ...shown }) =>
      `  ${flag === null ? variable : `${flag}, ${variable}`}: ${meaning} (default: ${shown.default})`,
  ),
].join('\n');

export interface ServeOptions {
  directory: string;
  host: string;
  port: number;
  /** Epoch seconds at which the service's clock is frozen; null: it runs. */
  asOfS: number | null;
  /** Worker threads; null: one per core. */
  threads: number | null;
  plans: Plans;
  native: NativeCurrency;
  /** Mints that count as the quote side of a pool, by priority. */
  quotes: readonly string[];
  /** Numeric id of the EVM chain. */
  evmChainId: number;
  fragmentBytes: number;
  /** Memory for segments' columns. */
  columnBytes: number;
}

/**
 * Reads the settings of `serve`: from the flag, else the variable, else the config file, else the
 * default.
 * @throws UsageError that names where a bad value came from
 */
export function serveOptions(words: readonly string[]): ServeOptions {
  const kinds = Object.fromEntries(FLAGS.map((name) => [name, 'text'] as const));
  const { flags, rest } = readFlags<Record<string, 'text'>>(words, kinds);
  if (rest.length > 0) throw new UsageError(`serve: unexpected ${rest[0]}`);
  const config = readConfig();
  const valueOf = <N extends SettingName>(name: N) => {
    const { fallback, read } = SETTINGS[name] as Setting<ReturnType<(typeof SETTINGS)[N]['read']>>;
    const sent = sentValue(name, flags[name], config);
    return sent === null ? fallback : read(sent.text, sent.from);
  };
  const native = { code: valueOf('native-code'), mint: valueOf('native-mint') };
  return {
    directory: path.resolve(valueOf('data')),
    host: valueOf('host'),
    port: valueOf('port'),
    asOfS: valueOf('as-of'),
    threads: valueOf('threads'),
    plans: valueOf('plans'),
    native,
    quotes: valueOf('quote-tokens') ?? defaultQuoteTokens(native.mint),
    evmChainId: valueOf('evm-chain-id'),
    fragmentBytes: valueOf('fragments-memory-mib'),
    columnBytes: valueOf('columns-memory-mib'),
  };
}

function sentValue(
  name: SettingName,
  flag: string | undefined,
  config: Config,
): { text: string; from: string } | null {
  if (flag !== undefined) return { text: flag, from: `--${name}` };
  const variable = variableOf(name);
  const inherited = process.env[variable];
  if (inherited !== undefined && inherited !== '') return { text: inherited, from: variable };
  const configured = config[name];
  return configured === undefined ? null : { text: configured, from: `config: ${name}` };
}

function variableOf(name: SettingName): string {
  return `FATHOM_${name.toUpperCase().replaceAll('-', '_')}`;
}

/**
 * Reads the config file that FATHOM_CONFIG names, else fathom.config.json if it exists.
 * @throws UsageError that names the file and what is wrong
 */
function readConfig(): Config {
  const named = process.env.FATHOM_CONFIG;
  const file = path.resolve(named || 'fathom.config.json');
  if (!existsSync(file)) {
    if (named) throw new UsageError(`FATHOM_CONFIG: ${named}: no such file`);
    return {};
  }
  const parsed = parseJson(file);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new UsageError(`${file}: expected a JSON object`);
  }
  const config: Config = {};
  for (const [key, value] of Object.entries(parsed)) {
    const name = NAMES.find((known) => known === key);
    if (name === undefined) {
      throw new UsageError(`${file}: ${key}: expected one of ${NAMES.join(', ')}`);
    }
    if (name === 'plans') config.plans = JSON.stringify(value);
    else if (typeof value === 'string' || typeof value === 'number') config[name] = String(value);
    else throw new UsageError(`${file}: ${key}: expected a text or a number`);
  }
  return config;
}

function parseJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new UsageError(`${file}: expected JSON`);
  }
}

function setting<T>(declared: Setting<T>): Setting<T> {
  return declared;
}

function whole(
  placeholder: string,
  meaning: string,
  fallback: number,
  min: number,
  max: number,
): Setting<number> {
  const read = (text: string, from: string) => wholeNumber(text, from, min, max);
  return { placeholder, meaning, default: String(fallback), fallback, read };
}

/** A setting in MiB, read as bytes. */
function mebibytes(meaning: string, fallback: number, maxMib: number): Setting<number> {
  const read = (text: string, from: string) => MIB * wholeNumber(text, from, 0, maxMib);
  return { placeholder: 'N', meaning, default: String(fallback / MIB), fallback, read };
}

function currencyCode(code: string, from: string): string {
  if (CODE.test(code) && code !== 'USD') return code;
  throw new UsageError(`${from}: expected 2 to 16 of A-Z and 0-9, and not USD, not ${code}`);
}

function mint(address: string, from: string): string {
  if (chainOfAddress(address) === 'mainchain') return address;
  throw new UsageError(`${from}: expected a base58 mint, not ${address}`);
}

function quoteMints(text: string, from: string): readonly string[] {
  const mints = text.split(',').map((item) => item.trim());
  const wrong = mints.find((item) => chainOfAddress(item) !== 'mainchain');
  if (wrong !== undefined) {
    throw new UsageError(`${from}: expected base58 mints with commas between, not '${wrong}'`);
  }
  if (new Set(mints).size < mints.length) throw new UsageError(`${from}: expected each mint once`);
  if (mints.length <= MAX_QUOTE_TOKENS) return mints;
  throw new UsageError(`${from}: expected at most ${MAX_QUOTE_TOKENS} mints, not ${mints.length}`);
}
