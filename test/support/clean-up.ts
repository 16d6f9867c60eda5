/** Runs before the tests of each file: whatever they start or make ends after them. */
import { afterAll } from 'vitest';
import { endAll } from './folders.js';

afterAll(endAll);
