/**
 * Apache Arrow, from the package's single minified file: it loads in a quarter of the time of the package's
 * CommonJS files, and every process and every thread loads it.
 */
import { createRequire } from 'node:module';
import type * as Arrow from 'apache-arrow';

export const arrow = createRequire(import.meta.url)(
  'apache-arrow/Arrow.esnext.min',
) as typeof Arrow;
