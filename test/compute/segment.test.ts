import { tableFromIPC } from 'apache-arrow';
import fc from 'fast-check';
import { uncompressSync } from 'lz4-napi';
import { describe, expect, it } from 'vitest';
import { openIpcStream } from '../../compute/segment/ipc.js';
import { lz4Compress } from '../../compute/segment/lz4.js';
import type { SnapshotRun } from '../../compute/segment/run.js';
import { decodeSegment, digestsOf, encodeSegment } from '../../compute/segment/segment.js';
import { runOfCells } from '../support/runs.js';

const cell = fc.tuple(
  fc.integer({ min: 0, max: 65_535 }),
  fc.integer({ min: -232, max: 242 }),
  fc.oneof(fc.integer({ min: 0, max: 5e9 }), fc.maxSafeInteger().map(Math.abs)),
  fc.integer({ min: 0, max: 5e9 }),
);

const runs = fc
  .array(
    fc.record({ price: fc.double({ min: 1e-9, max: 1e9, noNaN: true }), cells: fc.array(cell) }),
  )
  .map((snapshots) =>
    runOfCells(
      snapshots.map((one, i) => ({ ...one, t: 1_794_000_000 + i })),
      { tier: '15m' },
    ),
  );

const plain = (run: SnapshotRun) => ({
  ...run,
  t: [...run.t],
  priceUsd: [...run.priceUsd],
  cellOffsets: [...run.cellOffsets],
  market: [...run.market],
  bin: [...run.bin],
  supportCents: [...run.supportCents],
  resistanceCents: [...run.resistanceCents],
});

describe('digests of snapshots', () => {
  const one: SnapshotRun = {
    chain: 'mainchain',
    address: 'T',
    tier: 'raw',
    t: Uint32Array.of(1),
    priceUsd: Float64Array.of(2),
    cellOffsets: Int32Array.of(0, 2),
    market: Uint16Array.of(0, 1),
    bin: Int16Array.of(-1, 3),
    supportCents: Uint32Array.of(5, 0),
    resistanceCents: Uint32Array.of(0, 7),
  };
  const digest = (changed: Partial<SnapshotRun>): number => digestsOf({ ...one, ...changed })[0];

  it('change with each value and nothing else', () => {
    const same = [
      digest({}),
      digest({ t: Uint32Array.of(9), tier: '1h' }),
      digest({ supportCents: Float64Array.of(5, 0) }),
    ];
    const other = [
      digest({ priceUsd: Float64Array.of(2.0000000000000004) }),
      digest({ market: Uint16Array.of(0, 2) }),
      digest({ bin: Int16Array.of(-2, 3) }),
      digest({ supportCents: Uint32Array.of(6, 0) }),
      digest({ supportCents: Float64Array.of(5 + 2 ** 32, 0) }),
      digest({ resistanceCents: Uint32Array.of(7, 0) }),
      digest({ resistanceCents: Float64Array.of(0, 7 + 2 ** 33) }),
      digest({ cellOffsets: Int32Array.of(0, 1) }),
    ];
    expect(new Set(same).size).toBe(1);
    expect(new Set([...same, ...other]).size).toBe(1 + other.length);
  });
});

describe('segments', () => {
  it('are restored unchanged, including cells wider than 32 bits', () => {
    fc.assert(
      fc.property(runs, (run) => {
        expect(plain(decodeSegment(encodeSegment(run)))).toEqual(plain(run));
      }),
    );
  });

  it('can be read with only the decompressor and tableFromIPC', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const table = tableFromIPC(uncompressSync(Buffer.from(encodeSegment(run))));
        expect(table.schema.metadata.get('format')).toBe('fathom.segment.1');
        expect(table.schema.metadata.get('tier')).toBe(run.tier);
        const rows = table.toArray().map((row) => row.toJSON());
        rows.forEach((row, s) => {
          expect(row.t).toBe(run.t[s]);
          expect(row.price_usd).toBe(run.priceUsd[s]);
          const cells = row.cells.toArray().map((c: { toJSON(): object }) => c.toJSON());
          const first = run.cellOffsets[s];
          expect(
            cells.map((c: Record<string, unknown>) => [
              c.market,
              c.bin,
              Number(c.support_cents),
              Number(c.resistance_cents),
            ]),
          ).toEqual(
            cells.map((_: unknown, i: number) => [
              run.market[first + i],
              run.bin[first + i],
              run.supportCents[first + i],
              run.resistanceCents[first + i],
            ]),
          );
          expect(cells.length).toBe(run.cellOffsets[s + 1] - first);
        });
      }),
      { numRuns: 50 },
    );
  });

  it('are restored from any place in memory', () => {
    fc.assert(
      fc.property(runs, fc.nat(15), (run, shift) => {
        const block = encodeSegment(run);
        const ipc = uncompressSync(Buffer.from(block));
        const memory = new Uint8Array(ipc.length + shift);
        memory.set(ipc, shift);
        const stream = openIpcStream(memory.subarray(shift));
        expect([...stream.column(1, Uint32Array, stream.rows)]).toEqual([...run.t]);
      }),
    );
  });

  it('with a wrong byte are refused, or have as many cells as they state', () => {
    let refused = 0;
    fc.assert(
      fc.property(runs, fc.nat(), fc.integer({ min: 1, max: 255 }), (run, place, change) => {
        const ipc = Uint8Array.from(uncompressSync(Buffer.from(encodeSegment(run))));
        ipc[place % ipc.length] ^= change;
        try {
          const read = decodeSegment(lz4Compress(ipc));
          const cells = read.cellOffsets[read.t.length];
          for (const column of ['market', 'bin', 'supportCents', 'resistanceCents'] as const) {
            expect(read[column].length).toBe(cells);
          }
        } catch (error) {
          if ((error as Error).name === 'AssertionError') throw error;
          refused++;
        }
      }),
      { numRuns: 500 },
    );
    expect(refused).toBeGreaterThan(0);
  });
});
