/** Finds variables that are probably meant for Fathom, although no command reads them. */
import { variableOf } from './effective-settings.js';
import { didYouMean, type Flags } from './flags.js';

const PREFIX = 'FATHOM_';
/** Variables that are not settings. */
const OTHERS = ['config', 'debug', 'key', 'url'];

/**
 * The faults of variables that no command reads, usually because of a typing error.
 * @param flags of the command that runs: if it reads all variables, the settings are not loaded
 */
export async function unknownVariables(flags: Flags): Promise<string[]> {
  // An empty variable counts as unset.
  const given = Object.entries(process.env).flatMap(([name, value]) =>
    name.toUpperCase().startsWith(PREFIX) && value !== '' ? [name] : [],
  );
  const own = [...OTHERS.map(variableOf), ...Object.values(flags).map(({ variable }) => variable)];
  if (given.every((name) => own.includes(name))) return [];
  const { SETTINGS } = await import('./settings.js');
  const known = [...OTHERS, ...Object.keys(SETTINGS)].map(variableOf);
  return given
    .filter((name) => !known.includes(name))
    .map((name) => {
      // Without the prefix, which would allow for more errors.
      const [word, ...words] = [name, ...known].map((full) => full.slice(PREFIX.length));
      return `${name}: no command reads this variable${didYouMean(word, words, PREFIX)}`;
    });
}
