/** `npm start`: installs and builds what is needed, then serves a live demo market. */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import prepare, { root } from './prepare.mjs';
import { takenPort } from './taken-port.mjs';

const taken = await takenPort(process.argv.slice(2));
if (taken !== null) {
  console.error(`fathom: ${taken}`);
  process.exit(1);
}
await prepare();
const main = path.join(root, 'dist/server/cli/main.js');
process.argv = [process.execPath, main, 'start', ...process.argv.slice(2)];
await import(pathToFileURL(main).href);
