/** Reads a command's words: flags by name, everything else in order. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from '../../storage/errors.js';

/** A flag takes a text, several texts, or none. */
export type FlagKind = 'text' | 'texts' | 'switch';
export type FlagKinds = Readonly<Record<string, FlagKind>>;

type FlagValue<K extends FlagKind> = K extends 'switch'
  ? boolean
  : K extends 'texts'
    ? string[]
    : string | undefined;

export type Flags<F extends FlagKinds> = { [N in keyof F]: FlagValue<F[N]> };

/**
 * Splits words into flags and the rest.
 * @throws UsageError naming an unknown flag, one without its value, or one given twice
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
