import { createHash } from 'node:crypto';
import zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { canEncode, compressPage } from '../../compute/replay/compress.js';
import { marketsOfPage } from '../../compute/replay/names.js';
import { PAGE_LIMITS } from '../../compute/replay/page.js';
import { PAGE_FORMATS } from '../../compute/replay/page-format.js';
import { renderPage, type RenderInput } from '../../compute/replay/render.js';
import { encodeSegment } from '../../compute/segment/segment.js';
import { decodeMsgpack } from '../reference/msgpack.js';
import { referencePage, type PlainStore } from '../reference/replay.js';
import { ladderStore, sequence } from './ladder-store.js';
import { START_T, envelopeOf, plainRequest, queryOf, runOf } from './replay-stores.js';

const REQUEST = plainRequest(START_T, START_T + 100_000);

/** Moving ladders: in every snapshot 60% of the cells change, the others stay the same. */
const movingStore = (snapshots: number, markets: number, bins: number): PlainStore =>
  ladderStore({ snapshots, markets, bins });

function inputOf(store: PlainStore, extra: Partial<RenderInput> = {}): RenderInput {
  const { snapshots } = store;
  const half = snapshots.length >> 1;
  const parts = [snapshots.slice(0, half), snapshots.slice(half)];
  return {
    segments: parts.map((part) => encodeSegment(runOf('raw', part))),
    selection: {
      run: Uint32Array.from(snapshots, (_, i) => (i < half ? 0 : 1)),
      row: Uint32Array.from(snapshots, (_, i) => (i < half ? i : i - half)),
    },
    markets: marketsOfPage(store.markets, queryOf(REQUEST)),
    query: queryOf(REQUEST),
    windowContinues: false,
    envelope: envelopeOf(REQUEST),
    format: 'json',
    encoding: 'identity',
    ...extra,
  };
}

function bodyOf(input: RenderInput): Uint8Array<ArrayBuffer> {
  const result = renderPage(input);
  if (result.status !== 'done') throw new Error(`task ended ${result.status}`);
  return result.body;
}

const small = movingStore(6, 4, 9);

/** SHA-256 of the small store's first four snapshots: it changes only with the reply's meaning. */
const GOLDEN_SHA256 = '662181957df77e1ba50176543cce643777495ad0785f405fd96e6f31a377438f';

describe('the replay task', () => {
  it('renders a fixed store into fixed bytes, even if markets and snapshots were added later', () => {
    const sha256 = (store: PlainStore) =>
      createHash('sha256')
        .update(bodyOf(inputOf(store)))
        .digest('hex');
    const past = { ...small, snapshots: small.snapshots.slice(0, 4) };
    const envelope = { ...envelopeOf(REQUEST), clamped: false };
    const { reply } = referencePage(past, REQUEST, PAGE_LIMITS, envelope);
    expect(new TextDecoder().decode(bodyOf(inputOf(past)))).toBe(JSON.stringify(reply));
    expect(sha256(past)).toBe(GOLDEN_SHA256);
    const late = { ...small.markets[0], source: 'Late', address: 'late' };
    expect(sha256({ ...past, markets: [...small.markets, late] })).toBe(GOLDEN_SHA256);
  });

  it('serves every format in every coding', () => {
    const plain = bodyOf(inputOf(small));
    const decode = { gzip: zlib.gunzipSync, br: zlib.brotliDecompressSync };
    for (const format of ['json', 'msgpack', 'arrow'] as const) {
      const identity = bodyOf(inputOf(small, { format }));
      for (const encoding of ['gzip', 'br'] as const) {
        const body = bodyOf(inputOf(small, { format, encoding }));
        expect(body.byteLength).toBe(body.buffer.byteLength);
        expect(Buffer.compare(decode[encoding](body), identity)).toBe(0);
      }
    }
    const unpacked = decodeMsgpack(bodyOf(inputOf(small, { format: 'msgpack' })));
    expect(unpacked).toEqual(JSON.parse(new TextDecoder().decode(plain)));
  });

  it('states where the page ended, and requests more rows if the selection is too short', () => {
    const nextT = START_T + 120 * 6;
    const limits = { maxCells: 100, maxSnapshots: 288 };
    expect(renderPage(inputOf(small, { limits }))).toMatchObject({
      status: 'done',
      end: 'cells',
      snapshotCount: 2,
      rowCount: 72,
      nextFrom: START_T + 240,
    });
    expect(renderPage(inputOf(small, { windowContinues: true, nextT }))).toEqual({
      status: 'more',
      snapshotCount: 6,
      rowCount: 216,
    });
    const full = { ...PAGE_LIMITS, maxSnapshots: 6 };
    expect(
      renderPage(inputOf(small, { windowContinues: true, nextT, limits: full })),
    ).toMatchObject({ status: 'done', end: 'snapshots', nextFrom: nextT });
    expect(renderPage(inputOf(small, { windowContinues: true, limits: full }))).toMatchObject({
      status: 'more',
    });
  });

  it('ends without a body when its flag in shared memory is set', () => {
    const cancel = new Int32Array(new SharedArrayBuffer(4));
    expect(renderPage(inputOf(small, { cancel })).status).toBe('done');
    Atomics.store(cancel, 0, 1);
    expect(renderPage(inputOf(small, { cancel }))).toEqual({ status: 'cancelled' });
    // Before anything is decoded: a damaged segment is not even read.
    const damaged = { segments: [new Uint8Array(9)], cancel };
    expect(renderPage(inputOf(small, damaged))).toEqual({ status: 'cancelled' });
  });

  it('leaves nothing of one page in another, whatever their order, size and form', () => {
    const large = movingStore(40, 9, 30);
    const inputs = [small, large, movingStore(3, 2, 5)].flatMap((store) =>
      (['market', 'venue', 'all'] as const).flatMap((group) =>
        (['json', 'msgpack', 'arrow'] as const).flatMap((format) =>
          (['identity', 'gzip', 'br'] as const).map((encoding) => () => {
            const query = { ...queryOf(REQUEST), group };
            return bodyOf(inputOf(store, { query, format, encoding }));
          }),
        ),
      ),
    );
    const first = inputs.map((render) => render());
    const copies = first.map((body) => Buffer.from(body));
    const next = sequence();
    for (let n = 0; n < 3 * inputs.length; n++) {
      const i = Math.floor(next() * inputs.length);
      const body = inputs[i]();
      expect(body.byteLength).toBe(body.buffer.byteLength);
      expect(Buffer.compare(body, copies[i])).toBe(0);
    }
    // What was returned earlier has not been changed since.
    first.forEach((body, i) => expect(Buffer.compare(body, copies[i])).toBe(0));
  });
});

describe('the content codings', () => {
  const full = movingStore(288, 12, 28);
  const body = bodyOf(inputOf(full));

  it('shrink a full page at least by a factor of five, in every format', () => {
    for (const format of PAGE_FORMATS) {
      const plain = bodyOf(inputOf(full, { format }));
      for (const encoding of ['gzip', 'br'] as const) {
        const { length } = bodyOf(inputOf(full, { format, encoding }));
        expect(plain.length / length, `${encoding} of ${format}`).toBeGreaterThanOrEqual(5);
      }
    }
  });

  it('have zstd if Node has it, and otherwise say so', () => {
    const { zstdDecompressSync } = zlib as { zstdDecompressSync?: (bytes: Uint8Array) => Buffer };
    expect(canEncode('zstd')).toBe(zstdDecompressSync !== undefined);
    if (zstdDecompressSync === undefined) {
      expect(() => compressPage(body, 'zstd')).toThrow('this Node has none');
    } else {
      expect(Buffer.compare(zstdDecompressSync(compressPage(body, 'zstd')), body)).toBe(0);
    }
  });
});
