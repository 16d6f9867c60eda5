/**
 * `npm run bench` and `npm run bench:*`: installs and builds what is needed, then measures. Its first
 * argument names the program; default: the bench itself.
 */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import prepare, { root } from './prepare.mjs';

const words = process.argv.slice(2);
const program = words[0]?.endsWith('.js') === true ? words.shift() : 'main.js';
await prepare();
// In this process: signals reach the program, and no child is left running.
process.chdir(root);
const main = path.join(root, 'dist/bench', program);
process.argv = [process.execPath, main, ...words];
await import(pathToFileURL(main).href);
