/** Each setting's value and its source: the flag, else the variable, else the config file, else the default. */
import { allOf, UsageError } from '../../storage/errors.js';
import { type ConfigEntry, JSON_DOCUMENT, readConfig } from './config-file.js';
import { type Flag, isSwitch, refuseEmpty, valueOf } from './flags.js';

/** A flag that always has a value: by default its fallback, an empty list, or false. */
export type Setting = Flag & {
  /** Converts the value to the form of the config file, if that differs from the given text. */
  readonly document?: (value: never) => unknown;
  /** The value of a setting that takes a single text. */
  readonly fallback?: unknown;
};

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

export function variableOf(name: string): string {
  return `FATHOM_${name.toUpperCase().replaceAll('-', '_')}`;
}

/**
 * Settings as flags of a command, with their variables. Their texts are read with those of the variables and the config
 * file, so that one error reports all faults.
 */
export function flagsOf<S extends Readonly<Record<string, Setting>>>(
  settings: S,
): { [N in keyof S]: Omit<S[N], 'read'> & { readonly variable: string } } {
  return Object.fromEntries(
    Object.entries(settings).map(([name, setting]) => [
      name,
      { ...setting, read: undefined, variable: variableOf(name) },
    ]),
  ) as never;
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
      read[name] = { value: effectiveValue(setting, found), given: found };
    }),
    () => check(read as Partial<Record<keyof S, Effective>>),
  ]);
  return { file, settings: read as Record<keyof S, Effective> };
}

/**
 * Reads one setting; other settings' values do not matter, but a key of the config file that names none does.
 * @param flag its value on the command line
 * @throws UsageError
 */
export function effectiveSetting(
  settings: Readonly<Record<string, Setting>>,
  name: string,
  flag?: unknown,
): Effective {
  const { entries, faults } = readConfig(settings);
  if (faults.length > 0) throw new UsageError(faults.join('\n'));
  const given = givenTo(name, settings[name], flag, entries[name]);
  return { value: effectiveValue(settings[name], given), given };
}

/** The text given for a setting, and its source; null: none. @throws UsageError if a flag is empty */
function givenTo(
  name: string,
  { repeated }: Setting,
  flag: unknown,
  entry: ConfigEntry | undefined,
): Given | null {
  const texts = flagTexts(flag);
  if (texts.length > 0) {
    for (const text of texts) refuseEmpty(text, `--${name}`);
    return { texts, source: 'flag', from: `--${name}` };
  }
  const variable = variableOf(name);
  const inherited = process.env[variable] ?? '';
  if (inherited !== '') {
    const items = repeated ? inherited.split(',').map((item) => item.trim()) : [inherited];
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

/** The value that texts give a setting, or its default. @throws UsageError */
export function effectiveValue(
  setting: Setting,
  given: Pick<Given, 'texts' | 'from'> | null,
): unknown {
  const { texts, from } = given ?? { texts: [], from: '' };
  if (setting.repeated) return allOf(texts.map((text) => () => valueOf(text, from, setting)));
  if (isSwitch(setting)) return texts.length > 0 && trueOrFalse(texts[0], from);
  return texts.length > 0 ? valueOf(texts[0], from, setting) : setting.fallback;
}

function trueOrFalse(text: string, from: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new UsageError(`${from}: expected true or false, not ${text}`);
}

/** A setting's value in the form of the config file; null: a default that has no such form. */
export function settingDocument(setting: Setting, { value, given }: Effective): unknown {
  if (setting.document !== undefined) return setting.document(value as never);
  if (setting.repeated || isSwitch(setting)) return value;
  if (setting.placeholder === JSON_DOCUMENT) {
    return given === null ? setting.fallback : JSON.parse(given.texts[0]);
  }
  const text = given?.texts[0] ?? readable(setting);
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : text;
}

function readable(setting: Setting): string | null {
  const { default: text = '' } = setting;
  try {
    valueOf(text, '', setting);
    return text;
  } catch {
    return null;
  }
}
