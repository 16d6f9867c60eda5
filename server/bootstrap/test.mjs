/** `npm test`, `npm run test:long` and `npm run test:bench`: install and build what is needed, then run the tests. */
import prepare, { run } from './prepare.mjs';

const PROJECTS = { '--long': ['long'], '--bench': ['bench'] };

const [first, ...rest] = process.argv.slice(2);
const isNamed = first in PROJECTS;
const projects = isNamed ? PROJECTS[first] : ['alone', 'shared'];
const words = isNamed ? rest : process.argv.slice(2);

await prepare();
run(process.execPath, [
  'node_modules/vitest/vitest.mjs',
  'run',
  ...projects.map((name) => `--project=${name}`),
  ...words,
]);
