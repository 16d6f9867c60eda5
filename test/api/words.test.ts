/** Words of queries and bodies over HTTP: every endpoint accepts them in any case. */
import { describe, expect, it } from 'vitest';
import { bodyOf, EVERY, pathOf, type Schema } from '../support/endpoints.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MINT, heldService, steadyStore } from '../support/service.js';

const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(5, 2));
const service = await heldService({ depth });

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

const asks = EVERY.flatMap((endpoint): Ask[] => {
  const { operationId, path, query, chain, body } = endpoint;
  const fields = Object.entries((body ?? query).properties as Record<string, Schema>);
  const words = [
    ...('supported' in chain ? [...chain.supported, 'all'] : []).map((word) => ['chain', word]),
    ...fields.flatMap(([name, schema]) => wordsOf(schema).map((word) => [name, word])),
    ...(operationId === 'getMarketDepth' ? ['USD', 'SOL'] : []).map((word) => ['currency', word]),
  ];
  return words.map(([name, word]) => ({
    endpoint: operationId,
    name,
    word,
    as: (spelled) =>
      body === null
        ? service.get(pathOf(endpoint, `${name}=${spelled}`))
        : service.post(path, {
            ...bodyOf(endpoint),
            [name]: name === 'chain' ? spelled : [spelled],
          }),
  }));
});

const replyTo = async (pending: Promise<Response>): Promise<[number, string]> => {
  const response = await pending;
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

  it('that a list repeats in different case count once', async () => {
    const page = async (types: string) =>
      (await service.get(`/replay/${MINT}?types=${types}`)).json();
    expect(await page('cex_spot,CEX_SPOT')).toEqual(await page('cex_spot'));
  });
});
