/** Parses the words of a command line: flags, positional words, and values. */
import path from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { InstantError, parseInstant } from '../../compute/time.js';
import { UsageError } from '../../storage/errors.js';
import { systemClock } from '../clock.js';

/** A flag takes one text, several texts (when repeated), or none. */
export type FlagKind = 'text' | 'texts' | 'switch';
type FlagKinds = Readonly<Record<string, FlagKind>>;

type FlagValue<K extends FlagKind> = K extends 'switch'
  ? boolean
  : K extends 'texts'
    ? string[]
    : string | undefined;

type Flags<F extends FlagKinds> = { [N in keyof F]: FlagValue<F[N]> };

/**
 * Splits words into flags and positional words.
 * @throws UsageError that names an unknown flag, one without its value, or one given twice
 */
export function readFlags<F extends FlagKinds>(
  words: readonly string[],
  kinds: F,
): { flags: Flags<F>; rest: string[] } {
  const options: NonNullable<ParseArgsConfig['options']> = {};
  for (const [name, kind] of Object.entries(kinds)) {
    options[name] = { type: kind === 'switch' ? 'boolean' : 'string', multiple: true };
  }
  const { values, positionals } = parse(words, options);
  const flags: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(kinds)) {
    const given = (values[name] ?? []) as (string | boolean)[];
    if (given.length > 1 && kind !== 'texts') throw new UsageError(`--${name}: given twice`);
    flags[name] = kind === 'switch' ? given.length > 0 : kind === 'texts' ? given : given[0];
  }
  return { flags: flags as Flags<F>, rest: positionals };
}

function parse(words: readonly string[], options: NonNullable<ParseArgsConfig['options']>) {
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, strict: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('ERR_PARSE_ARGS') !== true) throw error;
    const named = /'(--?[^ ']+)/.exec(message)?.[1] ?? 'a flag';
    if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') throw new UsageError(`unknown flag ${named}`);
    throw new UsageError(
      /does not take/.test(message) ? `${named} takes no value` : `${named} needs a value`,
    );
  }
}

/** The data directory: `--data`, then FATHOM_DATA, then ./data. */
export function dataDirectory(flag: string | undefined): string {
  return path.resolve(flag ?? (process.env.FATHOM_DATA || 'data'));
}

/** A whole number within bounds. @throws UsageError that names where the text came from */
export function wholeNumber(text: string, from: string, min: number, max: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new UsageError(`${from}: expected a whole number from ${min} to ${max}, not ${text}`);
}

/** Epoch seconds of a time on the command line, whose now is the system's. @throws UsageError that names where it came from */
export function instant(text: string, from: string): number {
  try {
    return parseInstant(text, systemClock.nowS());
  } catch (error) {
    if (error instanceof InstantError) throw new UsageError(`${from}: ${error.message}`);
    throw error;
  }
}
