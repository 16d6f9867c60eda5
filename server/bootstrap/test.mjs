/** `npm test`: installs and builds what is needed, then runs every test. */
import { prepare, run } from './prepare.mjs';

prepare();
run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...process.argv.slice(2)]);
