/** `npm run bench`: installs and builds what is needed, then measures. */
import { prepare, run } from './prepare.mjs';

prepare();
run(process.execPath, ['dist/bench/main.js', ...process.argv.slice(2)]);
