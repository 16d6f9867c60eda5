/**
 * `@fathom/client`, also `fathom/client`: a client of the API for Node 20+ and browsers.
 *
 *     const fathom = fathomClient({ url: 'http://127.0.0.1:8080', key });
 *     const { service_score } = await fathom.getScore({ address });
 *     for await (const page of fathom.replay(address, { from: '-7d' })) ...
 */
import { addressClient, type AddressClient } from './address-client.js';
import { OPERATIONS } from './generated/api.js';
import { type ClientOptions, Http, type RequestOptions } from './http.js';
import type { Methods, OperationId, Values } from './methods.js';
import { isAddress, type NamedAddress, Symbols } from './symbols.js';

export type * from './generated/api.js';
export type { Cell, Group, MarketType, Snapshot, Tier } from './cells.js';
export { type ErrorFields, FathomError, type WaitKind } from './errors.js';
export type {
  FollowOptions,
  FollowParameters,
  LiveDeleted,
  LiveMessage,
  LiveNotice,
  LiveSnapshots,
} from './follow.js';
export type { ClientOptions, RequestOptions, Wait } from './http.js';
export type { OperationId, Parameters, Result, Time } from './methods.js';
export {
  type ArrowPage,
  DEFAULT_AHEAD,
  MAX_AHEAD,
  type ReplayOptions,
  type ReplayParameters,
} from './replay.js';
export type { SeriesParameters } from './series.js';
export {
  type NamedAddress,
  type NamedToken,
  namedToken,
  pickToken,
  SymbolError,
  type TokenCandidate,
} from './symbols.js';

/**
 * One method per operation, and depth history as iterators. Where they take a token's address, they also take
 * CHAIN:ADDRESS, its symbol, or CHAIN:SYMBOL. All throw FathomError; SymbolError if no single token has the symbol.
 */
export interface FathomClient extends AddressClient {
  /** The token that a text names. A symbol costs a request the first time; the client remembers up to 1,000. */
  findToken(token: string, options?: RequestOptions): Promise<NamedAddress>;
}

/** @throws TypeError if an option is wrong */
export function fathomClient(options: ClientOptions): FathomClient {
  const http = new Http(options);
  return withSymbols(addressClient(http), new Symbols(http));
}

/** A client that looks up what names a token and is no address. */
function withSymbols(client: AddressClient, symbols: Symbols): FathomClient {
  const addressOf = async (token: string, options: RequestOptions, chain?: unknown) =>
    (await symbols.find(token, options, chain)).address;
  const methods = Object.keys(OPERATIONS).map((id) => {
    const plain = client[id as OperationId] as (given: Values, more: RequestOptions) => unknown;
    const call = async (given: Values = {}, more: RequestOptions = {}): Promise<unknown> =>
      plain(await withAddresses(given, (token) => addressOf(token, more, given.chain)), more);
    return [id, call];
  });
  type Begin<T, P, O> = (address: string, given: P, more: O) => AsyncGenerator<T>;
  async function* afterLookup<T, P, O extends RequestOptions>(
    begin: Begin<T, P, O>,
    token: string,
    given: P,
    more: O,
  ): AsyncGenerator<T> {
    yield* begin(await addressOf(token, more), given, more);
  }
  /** Iterates over what `begin` returns for the token's address. */
  const of =
    <T, P extends object, O extends RequestOptions>(begin: Begin<T, P, O>) =>
    (token: string, given = {} as P, more = {} as O): AsyncGenerator<T> =>
      token === '' || isAddress(token)
        ? begin(token, given, more)
        : afterLookup(begin, token, given, more);
  return {
    ...(Object.fromEntries(methods) as Methods),
    findToken: (token, given = {}) => symbols.find(token, given),
    replay: of((...given) => client.replay(...given)),
    replayArrow: of((...given) => client.replayArrow(...given)),
    snapshots: of((...given) => client.snapshots(...given)),
    cells: of((...given) => client.cells(...given)),
    depthSeries: of((...given) => client.depthSeries(...given)),
    follow: of((...given) => client.follow(...given)),
  };
}

/** The parameters that name a token, and those that name several. */
const TOKEN_PARAMETERS = ['address', 'token_address', 'addresses', 'token_addresses'];

/** The parameters, with addresses in place of symbols. What is no text goes to the server as it is. */
async function withAddresses(
  given: Values,
  addressOf: (token: string) => Promise<string>,
): Promise<Values> {
  const parameters = { ...given };
  const found = (token: unknown): unknown =>
    typeof token === 'string' && token !== '' ? addressOf(token) : token;
  for (const name of TOKEN_PARAMETERS.filter((known) => known in given)) {
    const value = given[name];
    if (!Array.isArray(value)) {
      parameters[name] = await found(value);
      continue;
    }
    const addresses: unknown[] = [];
    // One after the other: a symbol that is given twice is looked up once.
    for (const token of value) addresses.push(await found(token));
    parameters[name] = addresses;
  }
  return parameters;
}
