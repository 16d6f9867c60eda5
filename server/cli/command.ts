/** What a command declares about itself. */
import { readWords, type Flags, type FlagValues, type Words, type WordValues } from './flags.js';

interface Declared<F extends Flags, W extends Words> {
  /** What it does, in one to three sentences. */
  readonly about: string;
  /** Default: none. */
  readonly words?: W;
  readonly flags: F;
  /** Environment variables that it reads besides those of flags, with their meaning. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Command lines, at least two. */
  readonly examples: readonly string[];
  readonly run: (flags: FlagValues<F>, words: WordValues<W>) => Promise<void>;
}

export interface Command extends Omit<Declared<Flags, Words>, 'words' | 'run'> {
  readonly words: Words;
  /** Runs it with the words after its name. @throws UsageError | InputError */
  readonly run: (given: readonly string[]) => Promise<void>;
}

/** A command that is run with the values of its flags and words. */
export function defineCommand<
  const F extends Flags,
  const W extends Words = Readonly<Record<never, never>>,
>({
  words = {} as W,
  ...declared
}: Declared<F, W>): Command & { readonly flags: F; readonly words: W } {
  const run = async (given: readonly string[]): Promise<void> => {
    const values = readWords(given, { flags: declared.flags, words });
    await declared.run(values.flags, values.words);
  };
  return { ...declared, words, run };
}
