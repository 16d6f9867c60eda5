/** `fathom queue` */
import { defineCommand } from '../command.js';
import { type FlagValues, JSON_OUTPUT, STORE_FLAGS } from '../flags.js';
import { counted, printJson, printLine, printNote } from '../output.js';
import { onStore } from '../runtime.js';

const FLAGS = { ...STORE_FLAGS, json: JSON_OUTPUT };

export const command = defineCommand({
  about: 'Prints the tokens requested from GET /score that still wait for data, oldest first.',
  flags: FLAGS,
  examples: ['fathom queue --data data', 'fathom queue --json'],
  run: queue,
});

async function queue(flags: FlagValues<typeof FLAGS>): Promise<void> {
  const tokens = await onStore(flags, (store) => store.listQueue());
  if (flags.json) {
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
    printLine(`${chain}  ${address}  since ${since}  ${counted(requests, 'request')}`);
  }
  if (tokens.length === 0) printNote('no token waits for data');
}
