/** Arguments that tools share, and the check of what an assistant sends. */
import { closeMatch } from '../../compute/nearest.js';
import { MARKET_TYPES } from '../../compute/market.js';
import { checkerOf, fieldOf } from '../api/checker.js';
import { text, word } from '../api/schemas.js';
import Type, { type TObject } from '../api/type.js';
import { ToolError } from './failures.js';

/** Longer texts are refused before anything is sent. */
const MAX_TEXT_CHARS = 200;

export const token = text('Symbol (SOL), CHAIN:SYMBOL (mainchain:SOL), address, or CHAIN:ADDRESS.');

const TIME =
  'RFC 3339 with a zone (2026-11-20T12:00:00Z), a date (midnight UTC), a time before now (-24h, -7d), now, or epoch seconds.';

const time = (description: string) =>
  Type.Union([Type.String(), Type.Integer()], { description: `${description} ${TIME}` });

export const at = Type.Optional(
  time('The newest snapshot at or before this time, up to 365 days back. Default: the newest.'),
);
export const from = Type.Optional(time('Start of the window. Default: 24 hours before its end.'));
export const to = Type.Optional(time('End of the window. Default: now.'));

/** Which markets count. */
export const MARKETS = {
  types: Type.Optional(
    Type.Array(word(MARKET_TYPES), {
      description: 'Only these types of markets. Default: all but cex_perp.',
    }),
  ),
  venues: Type.Optional(
    Type.Array(Type.String(), { description: 'Only these venues, such as binance or raydium.' }),
  ),
};

/** How many rows a tool lists. */
export const rows = (noun: string, most: number, usual: number) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: most,
      description: `How many ${noun}. Default: ${usual}.`,
    }),
  );

/** A time as the API takes it. */
export const timeText = (given: string | number | undefined): string | undefined =>
  given === undefined ? undefined : String(given);

/** Makes the check of a tool's arguments. It throws ToolError that names the argument and what was expected. */
export function argumentCheck(schema: TObject): (given: unknown) => void {
  const faultOf = checkerOf(schema);
  const names = Object.keys(schema.properties);
  return (given) => {
    const fault = faultOf(given);
    if (fault !== null) {
      const field = fault.path.length === 0 ? 'arguments' : fieldOf(fault.path);
      throw new ToolError(`${field}: ${fault.expected ?? 'expected a value; it is missing'}.`);
    }
    for (const [name, value] of Object.entries(given as Record<string, unknown>)) {
      if (!names.includes(name)) throw new ToolError(unknownName(name, names));
      const texts = [value].flat().filter((one) => typeof one === 'string');
      if (texts.some((one) => one.length > MAX_TEXT_CHARS)) {
        throw new ToolError(`${name}: expected a text of at most ${MAX_TEXT_CHARS} characters.`);
      }
    }
  };
}

function unknownName(name: string, names: readonly string[]): string {
  const near = closeMatch(name, names);
  const meant = near === null ? '' : ` Did you mean ${near}?`;
  return `${name.slice(0, MAX_TEXT_CHARS)}: this tool has no such argument.${meant} It has ${names.join(', ')}.`;
}
