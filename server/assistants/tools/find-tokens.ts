/** `find_tokens`: tokens by symbol, name or address. */
import { isoOf } from '../../../compute/time.js';
import { chainFilter, nullable, number, text, usd } from '../../api/schemas.js';
import Type from '../../api/type.js';
import { rows } from '../arguments.js';
import { TOKEN_FIELDS, tokenFields } from '../snapshot.js';
import { defineTool } from '../tool.js';
import { name, price, score, time } from '../words.js';

const USUAL_TOKENS = 10;

export const findTokens = defineTool({
  name: 'find_tokens',
  title: 'Find tokens',
  description:
    'Finds tokens whose symbol, name or address begins with a text, the exact symbol first, then by liquidity score. ' +
    'Says since when there is depth history. Use it to learn which tokens there are, and to tell tokens of one symbol apart.',
  input: {
    query: Type.Optional(text('Beginning of a symbol, name or address. Default: every token.')),
    chain: Type.Optional(chainFilter),
    limit: rows('tokens', 50, USUAL_TOKENS),
  },
  output: {
    tokens: Type.Array(
      Type.Object({
        ...TOKEN_FIELDS,
        name: nullable(text('Name of the token.')),
        score: nullable(number('Liquidity score, 0 to 100.'), 'null: not scored.'),
        price_usd: nullable(usd('Price of one token')),
        history_from: nullable(text('Time of the first snapshot, RFC 3339.')),
        history_to: nullable(text('Time of the newest snapshot, RFC 3339.')),
      }),
    ),
  },
  async run({ query, chain = 'all', limit = USUAL_TOKENS }, { client, signal }) {
    const found = await client.getTokens({ query, chain, limit }, { signal });
    const { tokens, next_cursor } = found;
    const asked = query === undefined ? 'Tokens' : `Tokens that begin with '${name(query)}'`;
    return {
      head: [tokens.length === 0 ? `${asked}: none. Try a shorter beginning.` : `${asked}:`],
      list: {
        field: 'tokens',
        noun: 'tokens',
        less: 'a smaller limit',
        columns: ['symbol', 'name', 'token', 'score of 100', 'price', 'history'],
        rows: tokens.map((token) => [
          name(token.symbol),
          name(token.name),
          `${token.chain}:${token.address}`,
          score(token.service_score),
          price(token.price_usd),
          token.first_snapshot_at === null
            ? 'none'
            : `${time(token.first_snapshot_at)} to ${time(token.last_snapshot_at)}`,
        ]),
      },
      foot:
        next_cursor === null
          ? []
          : ['There are more: ask with a longer beginning, one chain, or a larger limit.'],
      data: {
        tokens: tokens.map((token) => ({
          ...tokenFields(token),
          name: token.name,
          score: token.service_score,
          price_usd: token.price_usd,
          history_from: isoOrNull(token.first_snapshot_at),
          history_to: isoOrNull(token.last_snapshot_at),
        })),
      },
    };
  },
});

const isoOrNull = (epochS: number | null): string | null =>
  epochS === null ? null : isoOf(epochS);
