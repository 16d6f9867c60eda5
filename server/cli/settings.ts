/** Settings by flag, environment variable or config file, in this order. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../../storage/errors.js';
import { InstantError, parseInstant } from '../../compute/time.js';

/** Names of the settings that a config file may hold: the flags of `serve`, and the plans. */
const CONFIG_KEYS = [
  'data',
  'host',
  'port',
  'as-of',
  'threads',
  'native-code',
  'native-mint',
  'quote-tokens',
  'evm-chain-id',
  'fragments-memory-mib',
  'fragments-disk-mib',
  'columns-memory-mib',
  'plans',
] as const;
/** Settings that are JSON objects: as such in the config file, as JSON text in their variable. */
const OBJECT_KEYS: readonly ConfigKey[] = ['plans'];
type ConfigKey = (typeof CONFIG_KEYS)[number];

export type Config = Partial<Record<ConfigKey, string>>;

/** The data directory: `--data`, then FATHOM_DATA, then ./data. */
export function dataDirectory(flag: string | undefined): string {
  return path.resolve(flag ?? (process.env.FATHOM_DATA || 'data'));
}

/**
 * A setting of `serve`: the flag, else the variable FATHOM_NAME, else the config file.
 */
export function setting(
  name: ConfigKey,
  flag: string | undefined,
  config: Config,
): { value: string; from: string } | null {
  if (flag !== undefined) return { value: flag, from: `--${name}` };
  const variable = `FATHOM_${name.toUpperCase().replaceAll('-', '_')}`;
  const inherited = process.env[variable];
  if (inherited !== undefined && inherited !== '') return { value: inherited, from: variable };
  const configured = config[name];
  return configured === undefined ? null : { value: configured, from: `config: ${name}` };
}

/**
 * Reads the JSON config file of FATHOM_CONFIG, or fathom.config.json where there is one.
 * @throws UsageError naming the file and what is wrong with it
 */
export function readConfig(): Config {
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
    const known = CONFIG_KEYS.find((name) => name === key);
    if (known === undefined) {
      throw new UsageError(`${file}: ${key}: expected one of ${CONFIG_KEYS.join(', ')}`);
    }
    if (OBJECT_KEYS.includes(known)) {
      config[known] = JSON.stringify(value);
      continue;
    }
    if (typeof value !== 'string' && typeof value !== 'number') {
      throw new UsageError(`${file}: ${key}: expected a text or a number`);
    }
    config[known] = String(value);
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

/** A whole number within bounds. @throws UsageError naming where it came from */
export function wholeNumber(text: string, from: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${from}: expected a whole number from ${min} to ${max}, not ${text}`);
}

/** Epoch seconds of a time on the command line. @throws UsageError naming where it came from */
export function instant(text: string, from: string): number {
  try {
    return parseInstant(text);
  } catch (error) {
    if (error instanceof InstantError) throw new UsageError(`${from}: ${error.message}`);
    throw error;
  }
}
