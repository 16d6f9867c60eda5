/** Each setting's value and its source: the flag, else the variable, else the config file, else the default. */
import { allOf, UsageError } from '../../storage/errors.js';
import { type ConfigEntry, isJson, readConfig } from './config-file.js';
import type { Flag } from './flags.js';

/** A flag that always has a value: by default its fallback, an empty list, or false. */
export type Setting = Flag & {
  /** Converts the value to the form of the config file, if that differs from the given text. */
  readonly document?: (value: never) => unknown;
} & (
    | { kind: 'text'; fallback: unknown; read: NonNullable<Flag['read']> }
    | { kind: 'texts'; read: NonNullable<Flag['read']> }
    | { kind: 'switch' }
  );

interface Given {
  texts: readonly string[];
  source: 'flag' | 'variable' | 'file';
  /** The flag, the variable, or the file and its key. */
  from: string;
}

export interface Effective {
  value: unknown;
  /** null: the default. */
  given: Given | null;
}

/** The variable of a setting. */
export function variableOf(name: string): string {
  return `FATHOM_${name.toUpperCase().replaceAll('-', '_')}`;
}

/**
 * @param flags the values of the command line, by setting
 * @param check finds contradictions between settings; gets the settings that are valid on their own
 * @throws UsageError with a line for each fault, which names where the value came from
 */
export function effectiveSettings<S extends Readonly<Record<string, Setting>>>(
  settings: S,
  flags: Readonly<Record<string, unknown>>,
  check: (read: Partial<Record<keyof S, Effective>>) => void,
): { file: string | null; settings: Record<keyof S, Effective> } {
  const { file, entries, faults } = readConfig(settings);
  const read: Record<string, Effective> = {};
  allOf([
    ...faults.map((fault) => () => {
      throw new UsageError(fault);
    }),
    ...Object.entries(settings).map(([name, setting]) => () => {
      const found = givenTo(name, setting, flags[name], entries[name]);
      read[name] = { value: valueOf(setting, found), given: found };
    }),
    () => check(read as Partial<Record<keyof S, Effective>>),
  ]);
  return { file, settings: read as Record<keyof S, Effective> };
}

/** Reads one setting; errors in others do not matter. @throws UsageError */
export function effectiveSetting(
  settings: Readonly<Record<string, Setting>>,
  name: string,
): Effective {
  const given = givenTo(name, settings[name], undefined, readConfig(settings).entries[name]);
  return { value: valueOf(settings[name], given), given };
}

/** The text given for a setting, and its source; null: none. */
function givenTo(
  name: string,
  { kind }: Setting,
  flag: unknown,
  entry: ConfigEntry | undefined,
): Given | null {
  const texts = flagTexts(flag);
  if (texts.length > 0) return { texts, source: 'flag', from: `--${name}` };
  const variable = variableOf(name);
  const inherited = process.env[variable] ?? '';
  if (inherited !== '') {
    const items = kind === 'texts' ? inherited.split(',').map((item) => item.trim()) : [inherited];
    return { texts: items, source: 'variable', from: variable };
  }
  return entry === undefined ? null : { ...entry, source: 'file' };
}

/** A flag that is not given is undefined, or false (a switch), or empty (a repeatable flag). */
function flagTexts(flag: unknown): readonly string[] {
  if (Array.isArray(flag)) return flag.map(String);
  if (flag === true) return ['true'];
  return typeof flag === 'string' ? [flag] : [];
}

function valueOf(setting: Setting, given: Given | null): unknown {
  if (setting.kind === 'texts') {
    return allOf((given?.texts ?? []).map((text) => () => setting.read(text, given?.from ?? '')));
  }
  if (given === null) return setting.kind === 'switch' ? false : setting.fallback;
  const [text] = given.texts;
  return setting.kind === 'switch' ? trueOrFalse(text, given.from) : setting.read(text, given.from);
}

function trueOrFalse(text: string, from: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new UsageError(`${from}: expected true or false, not ${text}`);
}

/** A setting's value in the form of the config file; null: a default that has no such form. */
export function settingDocument(setting: Setting, { value, given }: Effective): unknown {
  if (setting.document !== undefined) return setting.document(value as never);
  if (setting.kind !== 'text') return value;
  if (isJson(setting)) return given === null ? setting.fallback : JSON.parse(given.texts[0]);
  const text = given?.texts[0] ?? readable(setting.default, setting.read);
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : text;
}

function readable(text = '', read: NonNullable<Flag['read']>): string | null {
  try {
    read(text, '');
    return text;
  } catch {
    return null;
  }
}
