/** The task of a pool thread that simulates. */
import { moving } from '../compute/outcome.js';
import { simulateDemo } from './history.js';

export const simulate = moving(simulateDemo);
