/** Reads the config file of `fathom serve`: JSON, with the settings by name. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../../storage/errors.js';
import { didYouMean, refuseEmpty } from './flags.js';

/** What a setting may be in the file: a text or number, a list of texts, true or false, or any JSON. */
export type ConfigKind = 'text' | 'texts' | 'switch' | 'json';

/** Texts of each setting in the file, as its flag would have them. */
export type Config = Readonly<Record<string, readonly string[] | undefined>>;

/**
 * Reads the config file that FATHOM_CONFIG names, else fathom.config.json if it exists.
 * @param kinds of all settings, by name
 * @throws UsageError that names the file and what is wrong
 */
export function readConfig(kinds: Readonly<Record<string, ConfigKind>>): Config {
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
  const names = Object.keys(kinds);
  const config: Record<string, readonly string[]> = {};
  for (const [key, value] of Object.entries(parsed)) {
    const name = names.find((known) => known === key.replaceAll('_', '-'));
    if (name === undefined) {
      throw new UsageError(
        `${file}: ${key}: expected one of ${names.join(', ')}${didYouMean(key, names)}`,
      );
    }
    if (config[name] !== undefined) throw new UsageError(`${file}: ${name}: given twice`);
    config[name] = textsOf(value, kinds[name], `${file}: ${key}`);
  }
  return config;
}

function textsOf(value: unknown, kind: ConfigKind, from: string): readonly string[] {
  if (kind === 'json') return [JSON.stringify(value)];
  const expected = {
    text: ['a text or a number', (item: unknown) => ['string', 'number'].includes(typeof item)],
    texts: ['a list of texts', (item: unknown) => typeof item === 'string'],
    switch: ['true or false', (item: unknown) => typeof item === 'boolean'],
  } as const;
  const [form, fits] = expected[kind];
  const items: unknown[] = kind !== 'texts' ? [value] : Array.isArray(value) ? value : [null];
  if (items.every(fits)) {
    for (const item of items) refuseEmpty(String(item), from);
    return items.map(String);
  }
  throw new UsageError(`${from}: expected ${form}`);
}

function parseJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new UsageError(`${file}: expected JSON`);
  }
}
