/** What a server's metrics say of collectors. */
import { afterEach, expect, it, vi } from 'vitest';
import { Collectors } from '../../server/operations/collectors.js';
import { Metrics } from '../../server/operations/metrics.js';
import { InputError } from '../../storage/errors.js';
import type { CollectorReport } from '../../storage/operations.js';
import { letPass } from '../support/waiting.js';

afterEach(() => {
  vi.restoreAllMocks();
});

const report = (isUp: boolean, more: Partial<CollectorReport> = {}): CollectorReport => ({
  everyS: 60,
  snapshots: 2,
  sources: [{ id: 'kraken', isUp }],
  resyncs: [{ source: 'kraken', cause: 'sequence', count: 3 }],
  ...more,
});

async function lines(collectors: Collectors): Promise<string[]> {
  const metrics = new Metrics();
  metrics.followCollectors(collectors);
  const text = await metrics.text();
  return text.split('\n').filter((line) => line.startsWith('fathom_collector'));
}

it('are the newest state and the sums of the reports', async () => {
  const collectors = new Collectors();
  collectors.note(report(false));
  collectors.note(report(true));
  collectors.note(
    report(true, { sources: [{ id: 'okx', isUp: false }], snapshots: 1, resyncs: [] }),
  );
  expect(await lines(collectors)).toEqual([
    'fathom_collector_source_up{source="kraken"} 1',
    'fathom_collector_source_up{source="okx"} 0',
    'fathom_collector_snapshots_total 5',
    'fathom_collector_resyncs_total{source="kraken",cause="sequence"} 6',
  ]);
});

it('a source is not up once its collector has been silent for 3 intervals', async () => {
  const collectors = new Collectors();
  collectors.note(report(true));
  letPass(179_000);
  expect((await lines(collectors))[0]).toBe('fathom_collector_source_up{source="kraken"} 1');
  vi.restoreAllMocks();
  letPass(181_000);
  expect((await lines(collectors))[0]).toBe('fathom_collector_source_up{source="kraken"} 0');
});

it('a source is forgotten an hour later', () => {
  const collectors = new Collectors();
  collectors.note(report(true));
  letPass(180_000 + 3_599_000);
  expect([...collectors.up()]).toEqual([['kraken', false]]);
  vi.restoreAllMocks();
  letPass(180_000 + 3_601_000);
  expect([...collectors.up()]).toEqual([]);
});

it.each([
  ['nothing', null],
  ['no sources', { everyS: 60, snapshots: 0, resyncs: [] }],
  ['a negative count', report(true, { snapshots: -1 })],
  ['a name of a megabyte', report(true, { sources: [{ id: 'x'.repeat(1e6), isUp: true }] })],
])('refuses %s', (_, strange) => {
  expect(() => new Collectors().note(strange as CollectorReport)).toThrow(InputError);
});

it('counts a bounded number of sources', () => {
  const collectors = new Collectors();
  const sources = Array.from({ length: 20_000 }, (_, i) => ({ id: `s${i}`, isUp: true }));
  collectors.note(report(true, { sources }));
  expect([...collectors.up()].length).toBe(10_000);
});
