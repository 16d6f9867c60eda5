/** Words of queries and bodies over HTTP: every endpoint takes them in any case. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EndpointSpec } from '../../server/api/endpoint.js';
import { ENDPOINTS } from '../../server/endpoints.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MINT, startTestService, steadyStore, type TestService } from '../support/service.js';

interface Schema {
  type?: string;
  enum?: readonly (string | number)[];
  items?: Schema;
}

let service: TestService;

beforeAll(async () => {
  const depth = new MemoryDepth();
  depth.add('mainchain', MINT, steadyStore(5, 2));
  service = await startTestService({ depth });
});
afterAll(() => service.stop());

const wordsOf = ({ type, enum: words, items }: Schema): string[] => {
  if (type === 'boolean') return ['true', 'false'];
  return (words ?? items?.enum ?? []).map(String).filter((word) => /[a-z]/i.test(word));
};

/** `TRUE`, `dex`, `1H`. */
const otherCase = (word: string): string =>
  word.replace(/[a-z]/gi, (char) =>
    char === char.toLowerCase() ? char.toUpperCase() : char.toLowerCase(),
  );

interface Ask {
  endpoint: string;
  name: string;
  word: string;
  as: (word: string) => Promise<Response>;
}

const asks = Object.values<EndpointSpec>(ENDPOINTS).flatMap(
  ({ operationId, method, path, query, chain, body }): Ask[] => {
    const target = path.replace(':address', MINT);
    const address = 'at' in chain && chain.at.in === 'query' ? `${chain.at.name}=${MINT}&` : '';
    const chains =
      chain.kind === 'absent' || chain.kind === 'none' ? [] : [...chain.supported, 'all'];
    const ofQuery = Object.entries(query.properties as Record<string, Schema>);
    const inQuery = ofQuery.flatMap(([name, schema]) =>
      wordsOf(schema).map((word) => [name, word] as const),
    );
    if (operationId === 'getMarketDepth') inQuery.push(['currency', 'USD'], ['currency', 'SOL']);
    if (method === 'GET') {
      return [...chains.map((word) => ['chain', word] as const), ...inQuery].map(
        ([name, word]) => ({
          endpoint: operationId,
          name,
          word,
          as: (spelled) => service.get(`${target}?${address}${name}=${spelled}`),
        }),
      );
    }
    const batch = 'name' in chain ? { [chain.name]: [MINT] } : {};
    const lists = Object.entries((body?.properties ?? {}) as Record<string, Schema>);
    return [
      ...chains.map((word) => ['chain', word, (spelled: string): unknown => spelled] as const),
      ...lists.flatMap(([name, schema]) =>
        wordsOf(schema).map(
          (word) => [name, word, (spelled: string): unknown => [spelled]] as const,
        ),
      ),
    ].map(([name, word, valueOf]) => ({
      endpoint: operationId,
      name,
      word,
      as: (spelled) => service.post(target, { ...batch, [name]: valueOf(spelled) }),
    }));
  },
);

const replyTo = async (asked: Promise<Response>): Promise<[number, string]> => {
  const response = await asked;
  return [response.status, await response.text()];
};

describe('words', () => {
  it('are many', () => {
    const names = new Set(asks.map(({ name }) => name));
    for (const name of ['chain', 'exchange_type', 'include', 'group', 'types', 'sort', 'delayed']) {
      expect(names, name).toContain(name);
    }
  });

  it.each(asks.map((ask) => [ask.endpoint, ask.name, ask.word, ask] as const))(
    'of %s are taken in any case: %s=%s',
    async (_, _name, word, { as }) => {
      const spelled = otherCase(word);
      expect(spelled).not.toBe(word);
      const [status, text] = await replyTo(as(spelled));
      // An error quotes what was sent.
      expect([status, text.replaceAll(spelled, word)]).toEqual(await replyTo(as(word)));
    },
  );

  it('that a list repeats in other cases count once', async () => {
    const page = async (types: string) =>
      (await service.get(`/replay/${MINT}?types=${types}`)).json();
    expect(await page('cex_spot,CEX_SPOT')).toEqual(await page('cex_spot'));
  });
});
