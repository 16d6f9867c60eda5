/** How the benchmarks' programs read their flags. */
import { parseArgs, type ParseArgsConfig } from 'node:util';

/** Wrong flags. */
export class BenchUsageError extends Error {}

type Config = Pick<ParseArgsConfig, 'options' | 'allowPositionals'>;

/** parseArgs, strictly. @throws BenchUsageError */
export function readBenchFlags<C extends Config>(words: readonly string[], config: C) {
  try {
    return parseArgs({ args: [...words], ...config });
  } catch (error) {
    throw new BenchUsageError(error instanceof Error ? error.message : String(error));
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
 * A flag's names between separators; without the flag all of them.
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
