/** The settings of `fathom serve` as its command line gives them. */
import { readWords } from '../../server/cli/flags.js';
import { serveOptions, type ServeOptions } from '../../server/cli/serve-options.js';
import { SERVE_FLAGS } from '../../server/cli/settings.js';

/** The settings from these words, environment variables and a config file. @throws UsageError */
export function settingsOf(words: readonly string[]): ServeOptions {
  return serveOptions(readWords(words, { flags: SERVE_FLAGS, words: {} }).flags);
}
