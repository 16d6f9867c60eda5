// Answers requests with the TypeScript client: a line of JSON on standard input, [method, ...arguments], and one on
// standard output with the result; of an iterator, a list of what it yields.
import { createInterface } from 'node:readline';
import { fathomClient } from '../../dist/client/index.js';

const { FATHOM_URL: url, FATHOM_KEY: key } = process.env;
const fathom = fathomClient({ url, key });

for await (const line of createInterface({ input: process.stdin })) {
  const [method, ...given] = JSON.parse(line);
  let result;
  try {
    const made = fathom[method](...given);
    if (Symbol.asyncIterator in made) {
      result = [];
      for await (const item of made) result.push(item);
    } else result = await made;
  } catch (error) {
    const { message, status, code, parameter } = error;
    result = { failed: { message, status, code, parameter } };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
