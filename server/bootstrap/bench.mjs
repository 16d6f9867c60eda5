/**
 * `npm run bench` and its relatives: installs and builds what is needed, then measures. Its first
 * word names the program where it is not the bench itself.
 */
import { prepare, run } from './prepare.mjs';

const words = process.argv.slice(2);
const program = words[0]?.endsWith('.js') === true ? words.shift() : 'main.js';
prepare();
run(process.execPath, [`dist/bench/${program}`, ...words]);
