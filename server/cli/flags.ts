/**
 * Flags and words of a command line. A command declares each once; parsing, help, completion and the
 * lists of docs/cli.md follow from the declaration.
 */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { closeMatch } from '../../compute/nearest.js';
import { InstantError, parseInstant, TIME_FORMS, UNITS_S } from '../../compute/time.js';
import { UsageError } from '../../storage/errors.js';
import { systemClock } from '../clock.js';

/** A positional word, under its placeholder in lower case. */
export interface Word {
  /** The allowed values. */
  readonly values?: readonly string[];
  /** Whether its value is the name of a file, or of a directory: completion offers them. */
  readonly names?: 'file' | 'directory';
  /** Reads one value; `from` names the flag or word. @throws UsageError */
  readonly read?: (text: string, from: string) => unknown;
  /** It may be given several times; among words, only the last one may. */
  readonly repeated?: true;
  /** Whether a word may be missing. */
  readonly optional?: true;
}
export type Words = Readonly<Record<string, Word>>;

export interface Flag extends Word {
  /** Placeholder of the value; a switch has none. */
  readonly placeholder?: string;
  /** Its description in the help and in docs/cli.md. */
  readonly meaning: string;
  /** The default as shown. */
  readonly default?: string;
  /** The environment variable that is read if the flag is not given. */
  readonly variable?: string;
  readonly needed?: true;
  /** Whether a configuration can allow other values: the command checks them, and that a needed one is given. */
  readonly isOpen?: true;
}
export type Flags = Readonly<Record<string, Flag>>;

export const isSwitch = ({ placeholder }: Flag): boolean => placeholder === undefined;

/** The type of a single value. */
export type ValueOf<F> = F extends { read: (text: string, from: string) => infer T }
  ? T
  : F extends { values: readonly (infer V)[]; isOpen?: never }
    ? V
    : string;

type FlagValue<F extends Flag> = F extends { placeholder: string }
  ? F extends { repeated: true }
    ? ValueOf<F>[]
    : F extends { needed: true; isOpen?: never }
      ? ValueOf<F>
      : ValueOf<F> | undefined
  : boolean;

export type FlagValues<F extends Flags> = { [N in keyof F]: FlagValue<F[N]> };

export type WordValues<W extends Words> = {
  [N in keyof W]: W[N] extends { repeated: true }
    ? ValueOf<W[N]>[]
    : W[N] extends { optional: true }
      ? ValueOf<W[N]> | undefined
      : ValueOf<W[N]>;
};

/** `--data` of a command that reads or changes a data directory. */
export const DATA = {
  placeholder: 'DIR',
  meaning: 'data directory',
  default: './data',
  variable: 'FATHOM_DATA',
  names: 'directory',
} as const satisfies Flag;

/** The flags of a command that opens the store itself if no server has it open. */
export const STORE_FLAGS = { data: DATA };
export type StoreFlags = Partial<FlagValues<typeof STORE_FLAGS>>;

/** `--json` of a command with a report or a list. */
export const JSON_OUTPUT = {
  meaning: 'prints one JSON document on stdout',
} as const satisfies Flag;

/** `--dry-run` of a command that changes a store. */
export const DRY_RUN = {
  meaning: 'runs every check and prints the report, but stores nothing',
} as const satisfies Flag;

/**
 * Splits a command line into values of flags and of words.
 * @throws UsageError that names the flag or word and what was expected
 */
export function readWords<F extends Flags, W extends Words>(
  given: readonly string[],
  { flags, words }: { flags: F; words: W },
): { flags: FlagValues<F>; words: WordValues<W> } {
  const { values, positionals } = parse(given, flags);
  return {
    words: readPositionals(positionals, words) as WordValues<W>,
    flags: Object.fromEntries(
      Object.entries(flags).map(([name, flag]) => [name, readFlag(name, flag, values[name] ?? [])]),
    ) as FlagValues<F>,
  };
}

function readFlag(name: string, flag: Flag, words: readonly (string | boolean)[]): unknown {
  // Settings and the data directory are read later, and their variables with them.
  const { [flag.read === undefined ? '' : (flag.variable ?? '')]: inherited = '' } = process.env;
  const isInherited = words.length === 0 && inherited !== '';
  const from = isInherited ? (flag.variable ?? '') : `--${name}`;
  const given = isInherited ? [inherited] : words;
  if (given.length > 1 && flag.repeated !== true) throw new UsageError(`${from}: given twice`);
  if (isSwitch(flag)) return given.length > 0;
  if (given.length === 0 && flag.needed === true && flag.isOpen !== true) {
    throw new UsageError(expectation(from, flag));
  }
  const values = given.map((text) => readValue(String(text), from, flag));
  return flag.repeated === true ? values : values[0];
}

function readPositionals(given: readonly string[], words: Words): Record<string, unknown> {
  const rest = [...given];
  const read: Record<string, unknown> = {};
  for (const [name, word] of Object.entries(words)) {
    const from = name.toUpperCase();
    const texts = word.repeated === true ? rest.splice(0) : rest.splice(0, 1);
    if (texts.length === 0 && word.optional !== true) {
      throw new UsageError(expectation(from, word));
    }
    const values = texts.map((text) => readValue(text, from, word));
    read[name] = word.repeated === true ? values : values[0];
  }
  if (rest.length > 0) {
    const names = [...Object.keys(words).map((name) => name.toUpperCase()), 'flags'];
    throw new UsageError(`unexpected ${rest[0]}: expected only ${names.join(', ')}`);
  }
  return read;
}

function readValue(text: string, from: string, declared: Word | Flag): unknown {
  // Settings have no reader here: they are read together later, and one error reports all their faults.
  if ('read' in declared && declared.read === undefined) return text;
  refuseEmpty(text, from);
  return valueOf(text, from, declared);
}

/** The value that a text means, by the declaration's reader or list of values. @throws UsageError */
export function valueOf(text: string, from: string, declared: Word & Partial<Flag>): unknown {
  const { values, isOpen, read } = declared;
  if (read !== undefined) return read(text, from);
  return values === undefined || isOpen === true ? text : oneOf(text, from, values);
}

/** @throws UsageError that names the values */
export function oneOf<V extends string>(text: string, from: string, values: readonly V[]): V {
  const value = values.find((each) => each === text);
  if (value !== undefined) return value;
  const expected = expectation(from, { values });
  throw new UsageError(`${expected}, not ${text}${didYouMean(text, values)}`);
}

/** An empty text usually comes from an unset shell variable. @throws UsageError */
export function refuseEmpty(text: string, from: string): void {
  if (text === '') throw new UsageError(`${from}: expected a value, not an empty text`);
}

function expectation(from: string, declared: Word & Partial<Flag>): string {
  const { values, placeholder, repeated } = declared;
  if (values === undefined) {
    return `${from}: expected ${placeholder ?? (repeated === true ? 'at least one' : 'one')}`;
  }
  const list = values.length > 2 ? `one of ${values.join(', ')}` : values.join(' or ');
  return `${from}: expected ${list}`;
}

/** `; did you mean X?` if a known word is similar. */
export function didYouMean(word: string, known: readonly string[], prefix = ''): string {
  const name = closeMatch(word, known);
  return name === null ? '' : `; did you mean ${prefix}${name}?`;
}

function parse(given: readonly string[], flags: Flags) {
  const options: NonNullable<ParseArgsConfig['options']> = {};
  for (const [name, flag] of Object.entries(flags)) {
    options[name] = { type: isSwitch(flag) ? 'boolean' : 'string', multiple: true };
  }
  try {
    const args = withDashedValues(given, flags);
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    return { values: values as Record<string, (string | boolean)[] | undefined>, positionals };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('ERR_PARSE_ARGS') !== true) throw error;
    const named = /'(--?[^ ']+)/.exec(message)?.[1] ?? 'a flag';
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
      const hint = didYouMean(named.replace(/^-+/, ''), Object.keys(flags), '--');
      throw new UsageError(`unknown flag ${named}${hint}`);
    }
    const flag = flags[named.replace(/^-+/, '')] as Flag | undefined;
    const takesNone = flag !== undefined && isSwitch(flag);
    throw new UsageError(takesNone ? `${named} takes no value` : `${named} needs a value`);
  }
}

export const HELP_FLAGS = ['--help', '-h'];

/** Whether the words ask for help: in `--name -h`, -h is the name. */
export function asksForHelp(given: readonly string[], flags: Flags): boolean {
  const words = withDashedValues(given, flags);
  const end = words.indexOf('--');
  return words.some((word, i) => HELP_FLAGS.includes(word) && (end < 0 || i < end));
}

/**
 * Joins `--from -24h` into one word, and puts SQL that begins with a comment behind `--`: parseArgs would take -24h and
 * the comment for flags.
 */
function withDashedValues(given: readonly string[], flags: Flags): string[] {
  const joined: string[] = [];
  const texts: string[] = [];
  const end = given.indexOf('--');
  for (const [i, word] of (end < 0 ? given : given.slice(0, end)).entries()) {
    const isValueOfFlag = flags[/^--([a-z-]+)=/.exec(word)?.[1] ?? ''] !== undefined;
    if (word.startsWith('--') && word.includes('\n') && !isValueOfFlag) {
      texts.push(word);
      continue;
    }
    const before = joined.at(-1) ?? '';
    const takesValue = before.startsWith('--') && flags[before.slice(2)]?.placeholder !== undefined;
    if (takesValue && before === given[i - 1] && /^-[^-]/.test(word)) {
      joined[joined.length - 1] = `${before}=${word}`;
    } else joined.push(word);
  }
  const rest = [...texts, ...(end < 0 ? [] : given.slice(end + 1))];
  return rest.length === 0 && end < 0 ? joined : [...joined, '--', ...rest];
}

/**
 * A whole number within bounds.
 * @param or other allowed values, for the error
 * @throws UsageError that names the text's source
 */
export function wholeNumber(text: string, from: string, min: number, max: number, or = ''): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${from}: expected a whole number from ${min} to ${max}${or}, not ${text}`);
}

/**
 * Seconds of a duration: a whole number and its unit, seconds without one.
 * @param max the longest, in the same form
 * @throws UsageError that names the text's source
 */
export function duration(text: string, from: string, max: string): number {
  const seconds = secondsOf(text);
  if (seconds >= 1 && seconds <= secondsOf(max)) return seconds;
  throw new UsageError(
    `${from}: expected a duration from 1s to ${max}, such as 90s, 15m or 2h, not ${text}`,
  );
}

/** A text that duration() reads as these seconds: in days, hours or minutes if it is a whole number of them. */
export function durationText(seconds: number): string {
  const unit = (['d', 'h', 'm'] as const).find((each) => seconds % UNITS_S[each] === 0) ?? 's';
  return `${seconds / UNITS_S[unit]}${unit}`;
}

/** NaN for a text that is not a duration. */
function secondsOf(text: string): number {
  const match = /^(\d{1,9})([smhdw]?)$/.exec(text);
  if (match === null) return NaN;
  return Number(match[1]) * UNITS_S[(match[2] || 's') as keyof typeof UNITS_S];
}

/**
 * Epoch seconds of a time on the command line, relative to the system's clock.
 * @param forms what a wrong text should have been
 * @throws UsageError that names its source
 */
export function instant(text: string, from: string, forms = TIME_FORMS): number {
  try {
    return parseInstant(text, systemClock.nowS());
  } catch (error) {
    if (error instanceof InstantError) throw new UsageError(`${from}: ${forms}${error.detail}`);
    throw error;
  }
}

/** Like instant(), relative to a clock that is known later: gives the time at a `nowS`. @throws UsageError */
export function instantBy(text: string, from: string): (nowS: number) => number {
  instant(text, from);
  return (nowS) => parseInstant(text, nowS);
}
