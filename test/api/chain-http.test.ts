/** The chain parameter over HTTP: every served endpoint, kind of address and chain value. */
import { expect, it } from 'vitest';
import { ENDPOINTS } from '../../server/endpoints.js';
import {
  ADDRESSES,
  CHAIN_VALUES,
  LEG,
  MINT,
  expectedOfChain,
  kindsOf,
  type AddressKind,
} from '../reference/chain-rules.js';
import type { Json } from '../support/conformance.js';
import { NEEDED } from '../support/endpoints.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { heldService, steadyStore } from '../support/service.js';

type Id = Exclude<keyof typeof ENDPOINTS, 'getUsage'>;

const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(5, 2));
depth.add('evmchain', LEG.toLowerCase(), steadyStore(5, 2));
const service = await heldService({ depth });

function request(id: Id, kind: AddressKind, chain: string | null): Promise<Response> {
  const { method, path } = ENDPOINTS[id];
  const rule = ENDPOINTS[id].chain;
  const address = ADDRESSES[kind];
  if (method === 'POST') {
    const addresses = address === null ? [] : [address];
    const name = 'name' in rule ? rule.name : 'addresses';
    return service.post(path, { [name]: addresses, ...(chain === null ? {} : { chain }) });
  }
  const query = new URLSearchParams(NEEDED[id]);
  if (chain !== null) query.set('chain', chain);
  const inQuery = 'at' in rule && rule.at.in === 'query' ? rule.at.name : undefined;
  const name = inQuery ?? ('scope' in rule ? rule.scope : undefined);
  if (name !== undefined && address !== null) query.set(name, address);
  return service.get(`${path.replace(':address', encodeURIComponent(address ?? ''))}?${query}`);
}

interface Want {
  token: { address: string } | null;
  tokens: { address: string }[];
  invalidAddresses: string[];
}

/** All token addresses in a reply, wherever they occur. */
function addressesIn(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' && /^(address|token|token_address|mint)$/.test(name)
      ? [inner]
      : addressesIn(inner),
  );
}

const ids = Object.keys(ENDPOINTS).filter((id): id is Id => id !== 'getUsage');
const cases = ids.flatMap((id) => {
  return kindsOf(ENDPOINTS[id].chain).flatMap((kind) =>
    CHAIN_VALUES.map((chain) => [id, kind, chain] as const),
  );
});

it.each(cases)('the chain parameter over HTTP %s with %s and chain=%s', async (id, kind, chain) => {
  const hasNone = ENDPOINTS[id].chain.kind === 'none';
  const want = (
    hasNone && chain !== null
      ? { error_code: 'invalid_parameter', parameter: 'chain' }
      : expectedOfChain(id, kind, chain)
  ) as Record<string, unknown>;
  // The service's own client checks every field of the reply's shape.
  const response = await request(id, kind, chain);
  const body = (await response.json()) as Record<string, unknown>;
  if ('error_code' in want) {
    expect(response.status).toBe(400);
    expect(body).toMatchObject({ error: 'Bad Request', ...want });
    return;
  }
  expect(response.status).toBe(200);
  const echoed = body.query_parameters as Json | undefined;
  if (typeof want.chain === 'string') expect(body.chain ?? echoed?.chain).toBe(want.chain);
  const { token, tokens = [], invalidAddresses } = want as Partial<Want>;
  if (token) expect(addressesIn(body)).toContain(token.address);
  expect(addressesIn(body.tokens ?? [])).toEqual(
    expect.arrayContaining(tokens.map(({ address }) => address)),
  );
  if (invalidAddresses) expect(body.invalid_addresses).toEqual(invalidAddresses);
});
