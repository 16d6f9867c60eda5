/** Why a tool has no answer, in words that say what to change. */
import { FathomError } from '../../client/index.js';

/** The message is the answer of the tool. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

/** Names of arguments, where the API's parameters have others. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  address: 'token',
  token_address: 'token',
  mint: 'token',
  low_pct_change: 'within_pct',
  high_pct_change: 'within_pct',
};

export function noKey(url: string): string {
  return `There is no API key for the Fathom server at ${url}. ${HOW_TO_GET_A_KEY}`;
}

const HOW_TO_GET_A_KEY =
  'Whoever runs that server makes one with `fathom keys create --tier premium`. Put it into the environment variable ' +
  "FATHOM_KEY of this MCP server, in the assistant's configuration, and start the server again.";

/** @param reason of the client, with what it would do next */
export function away(url: string, reason: string): string {
  return (
    `The Fathom server at ${url} does not answer: ${beforeRetry(reason)}. Check that it runs (\`fathom serve\`, or ` +
    '`npm start` for a demo) and that FATHOM_URL, or --url, names it.'
  );
}

/** @param reason of the client, with what it would do next */
export function limited(reason: string): string {
  return `${beforeRetry(reason)}. The key's rate limit is reached: ask again later, or for fewer tokens at once.`;
}

function beforeRetry(reason: string): string {
  return reason.replace(/; trying again in .*$/, '');
}

/** What to say of a failed call; null if it is a fault of this program. */
export function explained(error: unknown, url: string): string | null {
  if (error instanceof ToolError) return error.message;
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return `No answer from the Fathom server at ${url} in time. Ask for less: a shorter window, fewer tokens.`;
  }
  if (!(error instanceof FathomError)) return null;
  const reason = typeof error.cause === 'string' ? error.cause : error.message;
  switch (error.status) {
    case null:
      // Without a cause, nothing was sent.
      return error.cause === undefined ? `${error.message}.` : away(url, error.message);
    case 401:
      return `The Fathom server at ${url} does not accept the key: ${reason}. ${HOW_TO_GET_A_KEY}`;
    case 403:
      return `The key's plan does not include this: ${reason}.`;
    case 404:
      return `${reason}. find_tokens lists the tokens that this server knows.`;
    case 429:
      return limited(reason);
    default:
      return inArguments(reason);
  }
}

/** The server's words with the names of arguments for those of parameters. */
function inArguments(reason: string): string {
  const words = reason
    .replace('this endpoint', 'this tool')
    .replace(/`?\b([a-z_]+)\b`?/g, (given, word: string) => {
      const own = Object.hasOwn(ARGUMENTS, word) ? ARGUMENTS[word] : null;
      const isName = given.startsWith('`') || reason.startsWith(`${word}:`) || word.includes('_');
      return own !== null && isName ? own : given;
    });
  return words.endsWith('.') ? words : `${words}.`;
}
