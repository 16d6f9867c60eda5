/**
 * Apache Arrow. Required, not imported: its CommonJS files take half the time to load that its modules take, and
 * every process and every thread loads them.
 */
import { createRequire } from 'node:module';
import type * as Arrow from 'apache-arrow';

export const arrow = createRequire(import.meta.url)('apache-arrow') as typeof Arrow;
