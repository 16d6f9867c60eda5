/** A store with an archive holds what a plain map does, whatever is committed, deleted, archived, restored or in the way. */
import { it } from 'vitest';
import { walkOver } from './walk.js';

/** Use more for a long search: FATHOM_RUNS=500. */
const RUNS = Number(process.env.FATHOM_RUNS ?? 6);

it('A store with an archive holds what a plain map does', () => walkOver(RUNS));
