/** Reads the config file of `fathom serve`: JSON, with the settings by name. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../../storage/errors.js';
import { parseJson } from '../json-text.js';
import { didYouMean, type Flag, isSwitch, refuseEmpty } from './flags.js';

export interface ConfigEntry {
  /** The setting's values, as text for its flag. */
  texts: readonly string[];
  /** The file and the key in it. */
  from: string;
}

interface ConfigFile {
  /** null: there is no file. */
  file: string | null;
  /** By setting. */
  entries: Readonly<Record<string, ConfigEntry | undefined>>;
  /** The errors of all other entries, one line each. */
  faults: readonly string[];
}

/**
 * Reads the config file that FATHOM_CONFIG names, else fathom.config.json if it exists.
 * @param settings by name
 * @throws UsageError if it cannot be read, is no JSON object, or has a key twice
 */
export function readConfig(settings: Readonly<Record<string, Flag>>): ConfigFile {
  const named = process.env.FATHOM_CONFIG;
  const file = path.resolve(named || 'fathom.config.json');
  // In a directory that may not be entered, a file that nobody named counts as absent.
  if (!named && !existsSync(file)) return { file: null, entries: {}, faults: [] };
  const parsed = parseJson(readText(file, named ? `FATHOM_CONFIG: ${named}` : file), file);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new UsageError(`${file}: expected a JSON object`);
  }
  const names = Object.keys(settings);
  const entries: Record<string, ConfigEntry> = {};
  const faults: string[] = [];
  for (const { key, name, value } of keysOf(parsed, names)) {
    const from = `${file}: ${key}`;
    if (name === undefined) {
      const known = siblingsOf(key, names);
      faults.push(`${from}: expected one of ${known.join(', ')}${didYouMean(key, known)}`);
    } else if (entries[name] !== undefined) faults.push(`${from}: given twice`);
    else {
      try {
        entries[name] = { texts: textsOf(value, settings[name], from), from };
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        faults.push(error.message);
      }
    }
  }
  return { file, entries, faults };
}

interface ConfigKey {
  key: string;
  /** The setting that it names; undefined: none. */
  name: string | undefined;
  value: unknown;
}

/** The keys of a file. An object that is no setting holds several: `{"archive": {"after": "7d"}}` gives archive-after. */
function keysOf(parsed: object, names: readonly string[]): ConfigKey[] {
  const named = (key: string): string => key.replaceAll('_', '-');
  const known = (name: string): string | undefined => names.find((one) => one === name);
  return Object.entries(parsed).flatMap(([key, value]: [string, unknown]) => {
    const name = known(named(key));
    const isGroup = name === undefined && names.some((one) => one.startsWith(`${named(key)}-`));
    if (!isGroup || typeof value !== 'object' || value === null) return { key, name, value };
    return Object.entries(value).map(([inner, own]: [string, unknown]) => ({
      key: `${key}.${inner}`,
      name: known(`${named(key)}-${named(inner)}`),
      value: own,
    }));
  });
}

/** The keys that may stand where a key does: those of its object, or of the file. */
function siblingsOf(key: string, names: readonly string[]): readonly string[] {
  const [group, inner] = key.split('.');
  if (inner === undefined) return names;
  const prefix = `${group.replaceAll('_', '-')}-`;
  const own = names.filter((name) => name.startsWith(prefix));
  return own.map((name) => `${group}.${name.slice(prefix.length)}`);
}

/** The placeholder of a setting that is a JSON document (in a variable: JSON text). */
export const JSON_DOCUMENT = 'JSON';

/** The texts that a value in the config file stands for. @throws UsageError */
export function textsOf(value: unknown, setting: Flag, from: string): readonly string[] {
  if (setting.placeholder === JSON_DOCUMENT) return [JSON.stringify(value)];
  const isList = setting.repeated === true;
  const [form, types] = isList
    ? ['a list of texts', ['string']]
    : isSwitch(setting)
      ? ['true or false', ['boolean']]
      : ['a text or a number', ['string', 'number']];
  const items: unknown[] = !isList ? [value] : Array.isArray(value) ? value : [null];
  if (items.every((item) => types.includes(typeof item))) {
    for (const item of items) refuseEmpty(String(item), from);
    return items.map(String);
  }
  throw new UsageError(`${from}: expected ${form}`);
}

/** @throws UsageError that names the file by `from` */
function readText(file: string, from: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new UsageError(`${from}: no such file`);
    if (code === 'EISDIR') throw new UsageError(`${from}: expected a file, found a directory`);
    throw new UsageError(`${from}: cannot be read: ${message}`);
  }
}
