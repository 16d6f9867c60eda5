/** The HTTP engines that load here. */
import { ENGINE_NAMES, type EngineName } from '../../server/http/engine.js';
import { loadEngine } from '../../server/http/load-engine.js';
import { NO_LOGGER } from './logger.js';

const loaded = (await loadEngine('uws', NO_LOGGER)).name === 'uws';
if (!loaded) console.warn('uWebSockets.js does not load: tests of that engine are skipped');

/** Only builds of uWebSockets.js for Node 22 and later may be missing: they need glibc 2.38. */
export const ENGINES: readonly EngineName[] =
  loaded || process.version.startsWith('v20.')
    ? ENGINE_NAMES
    : ENGINE_NAMES.filter((name) => name !== 'uws');
