/** `fathom queue` */
import { defineCommand } from '../command.js';
import { DATA, JSON_OUTPUT } from '../flags.js';
import { printJson, printLine, tell } from '../output.js';
import { onStore } from '../runtime.js';

export const command = defineCommand({
  about: 'Prints the tokens requested from GET /score that still wait for data, oldest first.',
  words: {},
  flags: { data: DATA, json: JSON_OUTPUT },
  examples: ['fathom queue --data data', 'fathom queue --json'],
  run: ({ data, json }) => queue(data, json),
});

async function queue(data: string | undefined, json: boolean): Promise<void> {
  const tokens = await onStore(data, (store) => store.listQueue());
  if (json) {
    printJson(
      tokens.map(({ chain, address, requestedAtS, requests }) => ({
        chain,
        address,
        requested_at: requestedAtS,
        requests,
      })),
    );
    return;
  }
  for (const { chain, address, requestedAtS, requests } of tokens) {
    const since = new Date(requestedAtS * 1000).toISOString();
    printLine(`${chain}  ${address}  since ${since}  ${requests} requests`);
  }
  if (tokens.length === 0) tell('no token waits for data');
}
