/** The kinds of sources that a configuration may name. A further kind is one more entry. */
import type { TokenName } from '../storage/contract.js';
import type { JsonFields } from '../storage/import/fields.js';
import { POOL_KINDS } from './chains/pool-source.js';
import { EXCHANGE_FIELDS, readExchangeMarket } from './exchange-market.js';
import { PollSource } from './poll-source.js';
import type { Source, SourceContext } from './source.js';
import { StreamSource } from './stream-source.js';

export interface SourceKind {
  /** Its fields besides `id`, `kind` and `quote_usd`. */
  readonly fields: readonly string[];
  /** Checks the fields. @throws InputError that names the field and what was expected */
  read(fields: JsonFields, id: string, token: TokenName): (context: SourceContext) => Source;
}

export const SOURCE_KINDS: Readonly<Record<string, SourceKind>> = {
  exchange: {
    fields: EXCHANGE_FIELDS,
    read: (fields, id) => {
      const market = readExchangeMarket(fields, id);
      return (context) =>
        market.mode === 'poll'
          ? new PollSource(market, context)
          : new StreamSource(market, context);
    },
  },
  ...POOL_KINDS,
};
