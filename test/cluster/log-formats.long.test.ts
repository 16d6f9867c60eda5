import { statSync, truncateSync } from 'node:fs';
import { pack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { hasNats } from '../../bench/nats.js';
import { BUNDLE_VERSION, bundleFile, type Frame, packFrame } from '../../storage/bundle.js';
import { trimLog } from '../../storage/log/cluster.js';
import { digestOf, type Entry, ENTRY_FORMAT, packEntry } from '../../storage/log/entry.js';
import { MAX_ENTRY_BUNDLE_BYTES } from '../../storage/log/publisher.js';
import {
  bundleOfFrames,
  commitRows,
  MINT,
  snapshot,
  storedSnapshots,
  tokenOf,
} from '../support/stores.js';
import { expectSame, LogNodes, type Node, T0 } from './log-nodes.js';

const NEWER = BUNDLE_VERSION + 1;
const headOf = (version: number): Frame => ({
  kind: 'header',
  version,
  file: 'newer.ndjson',
  mode: 'replace',
});
/** A frame that a later version may have. */
const STRANGE = { kind: 'strange', bytes: new Uint8Array(64) } as unknown as Frame;
const LARGE = { ...STRANGE, bytes: new Uint8Array(MAX_ENTRY_BUNDLE_BYTES) };

const bytesOf = (frames: readonly Frame[]): Uint8Array =>
  Buffer.concat([...frames, { kind: 'end', frames: frames.length }].map(packFrame));

const ofBundle = (frames: readonly Frame[]): Uint8Array =>
  packEntry({ kind: 'bundle', bundle: bytesOf(frames) });

describe.skipIf(!hasNats)('Entries and bundles of another version of Fathom', () => {
  const ours = new LogNodes();
  const { open, close, pair } = ours;

  const known = packEntry({ kind: 'settings', settings: {} });
  const entries: [string, Uint8Array, RegExp][] = [
    [
      'a newer format',
      Buffer.from([ENTRY_FORMAT + 1, ...known.subarray(1)]),
      /^the log's next entry has format 5, this version knows 4: run a newer Fathom on this node$/,
    ],
    [
      'a kind that is not known',
      Buffer.concat([Uint8Array.of(ENTRY_FORMAT), pack({ kind: 'merger' })]),
      /^the log's next entry is of the kind merger, which is not known: run a newer/,
    ],
    [
      'a newer bundle',
      ofBundle([headOf(NEWER), STRANGE]),
      /^the log's next entry has a bundle of version 7, this version knows 6: run a newer/,
    ],
    [
      'an older bundle than can be read',
      ofBundle([headOf(1)]),
      /^the log's next entry has a bundle of version 1, this version knows 6: begin with a backup/,
    ],
    [
      'a bundle with a frame that is not known',
      ofBundle([headOf(BUNDLE_VERSION), STRANGE]),
      /^the log's next entry has a bundle with a frame "strange", which this version does not know: run/,
    ],
  ];

  const expectStopped = async (node: Node, why: RegExp): Promise<void> => {
    await node.until(() => node.stopped !== null || node.node.position > 2);
    expect(node.stopped).toMatch(why);
    expect(node.node.position).toBe(2);
    await expect(node.node.checkFollowing()).rejects.toThrow(why);
    expect(await storedSnapshots(node.store, tokenOf(node.store, MINT))).toHaveLength(1);
  };

  it.each(entries)('stop a node before %s, and it keeps serving', async (_, data, why) => {
    const a = await open('a');
    await a.reached(1);
    await commitRows(a.commands, [snapshot(T0)]);
    await a.log.publish('data.many', data, 'strange');
    const { directories } = ours;
    await a.log.publish('settings', known, 'behind it');
    await expectStopped(a, why);
    await expect(a.commands.commit('none')).rejects.toThrow(/no longer follows its log/);
    // After a restart it stops at the same entry, and does not keep retrying.
    await close(a);
    const again = await open('a', directories[0]);
    await expectStopped(again, why);
    await again.node['working'];
  });

  it('are skipped by every node if no version writes them', async () => {
    const malformed: [number, string][] = [];
    const onMalformed = (position: number, why: string): unknown => malformed.push([position, why]);
    const [a, b] = [await open('a'), await open('b', undefined, undefined, { onMalformed })];
    for (const node of [a, b]) await node.reached(1);
    const packed = (value: unknown): Uint8Array => packEntry(value as Entry);
    const whole = Buffer.from(bytesOf([headOf(BUNDLE_VERSION)]));
    const of = (bundle: Uint8Array): Uint8Array => packed({ kind: 'bundle', bundle });
    const cutShort = 'the bundle was cut short';
    const undecodable = 'it cannot be decoded';
    const noFormat = 'it begins with the format of no entry';
    const cases: [Uint8Array, string][] = [
      [new Uint8Array(0), noFormat],
      [Buffer.from('hello'), noFormat],
      [Uint8Array.of(0, ...known.subarray(1)), noFormat],
      [Uint8Array.of(ENTRY_FORMAT), undecodable],
      [Uint8Array.of(ENTRY_FORMAT, 0xc1, 0xc1), undecodable],
      [known.subarray(0, -1), undecodable],
      [Uint8Array.of(ENTRY_FORMAT, 7), undecodable],
      [Uint8Array.of(ENTRY_FORMAT, 0xc0), undecodable],
      [packed({ kind: 'bundle' }), 'it lacks what a bundle entry has'],
      [packed({ kind: 'retirement', cutoffs: {} }), 'it lacks what a retirement entry has'],
      [
        Buffer.concat([Uint8Array.of(1), pack({ kind: 'key', stored: null, isNew: true })]),
        'it lacks what a key entry has',
      ],
      [packed({ kind: 'large-bundle', name: '../x' }), 'it lacks what a large-bundle entry has'],
      [of(new Uint8Array(0)), cutShort],
      [of(whole.subarray(0, -1)), cutShort],
      [of(whole.subarray(0, whole.readUInt32BE(0) + 4)), cutShort],
      [of(Buffer.alloc(8, 0xff)), 'a frame states 4294967295 bytes'],
      [of(Uint8Array.of(0, 0, 0, 1, 0xc1)), 'the bundle has a frame that cannot be decoded'],
    ];
    for (const [i, [data]] of cases.entries()) await a.log.publish('data.many', data, `stray ${i}`);
    // A malformed large bundle, with the size and digest named in its entry.
    const bundle = await bundleOfFrames(a.store, [headOf(BUNDLE_VERSION), LARGE]);
    const file = bundleFile(a.store.directory, bundle.name);
    truncateSync(file, MAX_ENTRY_BUNDLE_BYTES);
    const parts = await a.log.sendBundle(file, MAX_ENTRY_BUNDLE_BYTES);
    const size = { bytes: MAX_ENTRY_BUNDLE_BYTES, sha256: await digestOf(file) };
    const large = packEntry({ kind: 'large-bundle', name: bundle.name, ...size });
    await bundle.discard();
    await a.log.publish('large', large, 'large', { parts });
    await a.log.publish('large', large, 'large without parts');
    await a.log.publish('large', Buffer.from('hello'), 'stray');

    await commitRows(a.commands, [snapshot(T0)]);
    await expectSame(a, b);
    const texts = [...cases.map(([, text]) => text), cutShort, 'it names no bundle', noFormat];
    const before = 2 + cases.length;
    const positionOf = (i: number): number => i + 2 + (i + 2 < before ? 0 : parts.positions.length);
    expect(malformed).toEqual(texts.map((text, i) => [positionOf(i), text]));
    expect(a.node.position).toBe(positionOf(texts.length));
    const all = a.node.position;
    expect(await trimLog(a.log, all)).toEqual({ to: all, freed: all });
  });

  it('stop a node before a newer large bundle', async () => {
    const [a, b] = await pair();
    await commitRows(a.commands, [snapshot(T0)]);
    const bundle = await bundleOfFrames(a.store, [headOf(NEWER), LARGE]);
    const file = bundleFile(a.store.directory, bundle.name);
    const bytes = statSync(file).size;
    const parts = await a.log.sendBundle(file, bytes);
    const sha256 = await digestOf(file);
    const entry = { kind: 'large-bundle', name: bundle.name, bytes, sha256 } as const;
    await a.log.publish('large', packEntry(entry), bundle.name, { parts });
    for (const node of [a, b])
      await expectStopped(node, /has a bundle of version 7, .*: run a newer/);
    await bundle.discard();
  });

  it.each([
    ['newer', [headOf(NEWER), STRANGE], /^the command wrote a bundle of version 7, .*: run it and/],
    ['large newer', [headOf(NEWER), LARGE], /^the command wrote a bundle of version 7, .*: run it/],
    ['strange', [headOf(BUNDLE_VERSION), STRANGE], /^the command wrote .* frame "strange", which/],
    ['large strange', [headOf(BUNDLE_VERSION), LARGE], /^the command wrote .* frame "strange"/],
    ['headless', [STRANGE], /^the command wrote a bundle of version unknown, this version knows 6/],
  ])('are refused if a command passes a %s bundle to a node', async (_, frames, why) => {
    const a = await open('a');
    await a.reached(1);
    const bundle = await bundleOfFrames(a.store, frames);
    await expect(a.commands.commit(bundle.name)).rejects.toThrow(why);
    await expect(a.commands.rehearse(bundle.name)).rejects.toThrow(why);
    await bundle.discard();
    // Nothing of it is in the log: the next change is the log's second entry.
    await commitRows(a.commands, [snapshot(T0)]);
    expect(a.node.position).toBe(2);
  });
});
