/** The small market's scores, over the wire of the built command. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkedFetch, type Json } from '../support/conformance.js';
import { HAS_EXAMPLES, exampleFile, expectedReplies } from '../support/examples.js';
import {
  cleanUp,
  fathom,
  newKey,
  serveHere,
  temporaryDirectory,
  type Service,
} from '../support/cli.js';
import { scoreSteps } from '../../explorer/views/formulas.js';
import { eventually } from '../support/waiting.js';

const DATASETS = ['tokens', 'snapshots', 'cells'];

interface Expected {
  status: string;
  current_price: number | null;
  service_score?: number;
  unrounded?: number;
  support?: number;
  resistance?: number;
}

describe.runIf(HAS_EXAMPLES)('the example market', () => {
  let expected: { now: number; names: Record<string, string>; score: Record<string, Expected> };
  let server: Service;
  let key: string;

  beforeAll(async () => {
    expected = expectedReplies();
    const directory = temporaryDirectory();
    key = await newKey(directory);
    server = await serveHere(directory, ['--as-of', String(expected.now)]);
    for (const dataset of DATASETS) {
      const { status, stderr } = await fathom([
        'ingest',
        dataset,
        exampleFile(dataset),
        '--data',
        directory,
      ]);
      expect(stderr, dataset).not.toContain('refused');
      expect(status).toBe(0);
    }
    // Scoring follows an ingest by itself, a moment later.
    const addresses = Object.entries(expected.score)
      .filter(([, { status }]) => status === 'available')
      .map(([name]) => expected.names[name]);
    await eventually('the scores of all tokens that have one', async () => {
      const bodies = await Promise.all(addresses.map(bodyOf));
      return bodies.every(({ status }) => status !== 'pending');
    });
  });
  afterAll(cleanUp);

  const bodyOf = async (address: string): Promise<Json> =>
    (await (await server.get(`/score/${address}?explain=true`, key)).json()) as Json;

  it('has the scores of the reference, and their parts', async () => {
    const names = Object.entries(expected.score);
    expect(names.length).toBeGreaterThan(20);
    for (const [name, want] of names) {
      const address = expected.names[name];
      // A bridged leg is answered as its mint: its own price does not show.
      const asked = name === 'AAAe' ? expected.names.AAA : address;
      const body = await bodyOf(address);
      expect(body.address, name).toBe(asked);
      expect(body.status, name).toBe(want.status);
      const price = name === 'AAAe' ? expected.score.AAA.current_price : want.current_price;
      expectClose(body.service_current_price, price, name);
      expect(body.service_score, name).toBe(want.service_score ?? null);
      expect(body.explain === null, name).toBe(want.unrounded === undefined);
      if (body.explain === null) continue;
      expectClose(body.explain.unrounded, want.unrounded, name);
      expectClose(body.explain.support, want.support, name);
      expectClose(body.explain.resistance, want.resistance, name);
    }
  });

  it('has parts that add up as the explorer shows them', async () => {
    let checked = 0;
    for (const [name, { service_score: score }] of Object.entries(expected.score)) {
      const { explain } = await bodyOf(expected.names[name]);
      if (explain === null || score === undefined) continue;
      const shown = scoreSteps(explain, score).map((step) =>
        (step.replaceAll(',', '').match(/\d+(?:\.\d+)?/g) ?? []).map(Number),
      );
      const [, [support, resistance, depth], , , [points, more, sum, rounded]] = shown;
      expect(support + resistance, name).toBeCloseTo(depth, 2);
      expect(Math.abs(points + more - sum), name).toBeLessThan(0.00011);
      expect(rounded, name).toBe(score);
      checked++;
    }
    expect(checked).toBeGreaterThan(0);
  });

  it('has the legs apart in a batch, and boards of the best', async () => {
    const addresses = Object.keys(expected.score).map((name) => expected.names[name]);
    const response = await checkedFetch(`${server.url}/api/v1/score`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ addresses }),
    });
    const { tokens } = (await response.json()) as Json;
    expect(tokens.map((row: Json) => [row.address, row.service_score, row.status])).toEqual(
      Object.entries(expected.score).map(([name, want]) => [
        expected.names[name],
        want.service_score ?? null,
        want.status,
      ]),
    );
    // HHH is nearly eight hours old.
    const stale = tokens.filter((row: Json) => 'stale' in row);
    expect(stale).toMatchObject([{ address: expected.names.HHH, stale: true }]);
    const available = Object.entries(expected.score)
      .filter(([name, { status }]) => status === 'available' && name !== 'AAAe' && name !== 'HHH')
      .map(([name, want]) => [expected.names[name], want.service_score as number] as const)
      .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
    const board = (await (await server.get('/top-scores?chain=all', key)).json()) as Json;
    expect(board.tokens.map((row: Json) => [row.address, row.service_score])).toEqual(available);
    expect(board.stale_count).toBe(1);
  });
});

function expectClose(
  actual: number | null,
  expected: number | null | undefined,
  name: string,
): void {
  if (expected === null || actual === null || expected === undefined) {
    expect(actual, name).toBe(expected);
  } else {
    expect(Math.abs(actual - expected), name).toBeLessThanOrEqual(1e-6 * Math.abs(expected));
  }
}
