/** `fathom queue` */
import { UsageError } from '../../../storage/errors.js';
import { readFlags } from '../flags.js';
import { printJson, printLine, tell } from '../output.js';
import { onStore } from '../runtime.js';

const QUEUE_USAGE = 'fathom queue [--data DIR] [--json]';
export const command = { usage: QUEUE_USAGE, run: queue };

/** Prints the tokens that wait for data, oldest request first. @throws UsageError */
export async function queue(words: readonly string[]): Promise<void> {
  const { flags, rest } = readFlags(words, { data: 'text', json: 'switch' });
  if (rest.length > 0) throw new UsageError(`queue: unexpected ${rest[0]}`);
  const tokens = await onStore(flags.data, (store) => store.listQueue());
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
    printLine(`${chain}  ${address}  since ${since}  ${requests} requests`);
  }
  if (tokens.length === 0) tell('no token waits for data');
}
