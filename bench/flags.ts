/** Reads the flags of the benchmarks' programs. */
import { closeSync, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { BenchUsageError, messageOf } from './errors.js';

type Config = Pick<ParseArgsConfig, 'options' | 'allowPositionals'>;

/**
 * parseArgs, strictly. Also checks the file of `--json`: a file that cannot be written is refused before anything is
 * measured.
 * @throws BenchUsageError
 */
export function readBenchFlags<C extends Config>(words: readonly string[], config: C) {
  const parsed = parsedFlags(words, config);
  const { json } = parsed.values as { json?: unknown };
  if (typeof json === 'string') checkResultsFile(path.resolve(json));
  return parsed;
}

function parsedFlags<C extends Config>(words: readonly string[], config: C) {
  try {
    return parseArgs({ args: [...words], ...config });
  } catch (error) {
    throw new BenchUsageError(messageOf(error));
  }
}

/** Opens the file in the same way as for writing results, without changing it. Creates its folder. */
function checkResultsFile(file: string): void {
  try {
    mkdirSync(path.dirname(file), { recursive: true });
    const isNew = !existsSync(file);
    closeSync(openSync(file, 'a'));
    if (isNew) rmSync(file);
  } catch (error) {
    throw new BenchUsageError(`--json: '${file}' cannot be written: ${messageOf(error)}`);
  }
}

/** A flag's whole number from `least` to `most`. @throws BenchUsageError */
export function wholeFlag(flag: string, text: string, least: number, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  throw new BenchUsageError(
    `${flag}: expected a whole number from ${least} to ${most}, not '${text}'`,
  );
}

/**
 * The names in a flag's list; without the flag, all known names.
 * @throws BenchUsageError
 */
export function namesFlag<N extends string>(
  flag: string,
  text: string | undefined,
  known: readonly N[],
  separator = ',',
): readonly N[] {
  if (text === undefined) return known;
  return text.split(separator).map((part) => {
    const name = known.find((one) => one === part.trim());
    if (name !== undefined) return name;
    const all = known.join(`${separator} `);
    throw new BenchUsageError(`${flag}: expected any of ${all}; was '${part}'`);
  });
}
