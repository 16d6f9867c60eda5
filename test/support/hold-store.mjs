/** Opens the store of DIRECTORY, prints `held`, and keeps the store without taking commands. */
import { Store } from '../../dist/storage/store.js';

const store = await Store.open(process.argv[2], { rewrite: () => Promise.reject(new Error()) });
console.log('held');
setInterval(() => store.directory, 1000);
