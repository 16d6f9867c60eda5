/** The order in which live documents are made, and for whom. */
import { describe, expect, it } from 'vitest';
import type { Call } from '../../server/api/endpoint.js';
import { DocumentFeed } from '../../server/live/document-feed.js';
import type { LiveFormat } from '../../server/live/protocol.js';
import { eventually } from '../support/waiting.js';

const keyOf = (id: string): Call['key'] => ({ id, tier: 'enterprise' }) as never;

/** A feed whose documents are made by a handler that counts, and whose text changes when `version` does. */
class CountedFeed {
  version = 0;
  /** The `min_mcap` of each document made, in order. */
  readonly made: number[] = [];
  /** How long each document keeps the event loop busy. */
  workMs = 0;
  private isHeld: (minMcap: number) => boolean = () => false;
  private held: Promise<void> = Promise.resolve();
  private readonly failures: unknown[] = [];
  readonly feed: DocumentFeed;

  constructor() {
    const handler = async ({ query }: Call) => {
      const minMcap = (query as { min_mcap: number }).min_mcap;
      this.made.push(minMcap);
      const untilMs = performance.now() + this.workMs;
      while (performance.now() < untilMs);
      if (this.isHeld(minMcap)) await this.held;
      return { minMcap, version: this.version };
    };
    const handlers = { getDcaPressure: handler } as never;
    this.feed = new DocumentFeed(handlers, {}, (error) => this.failures.push(error));
  }

  /** Follows a document. @returns the versions that it was sent, and how to stop */
  async follow(keyId: string, minMcap: number) {
    const heard: number[] = [];
    const request = {
      channel: 'dca-pressure',
      address: null,
      query: `min_mcap=${minMcap}`,
    } as const;
    const following = await this.feed.follow(request, keyOf(keyId), (encode) => {
      const { document } = JSON.parse(textOf(encode)) as { document: { version: number } };
      heard.push(document.version);
    });
    return { heard, ...following };
  }

  /** Holds up documents until the returned function is called. */
  hold(isHeld: (minMcap: number) => boolean): () => void {
    let release: () => void = () => undefined;
    this.held = new Promise((resolve) => (release = resolve));
    this.isHeld = isHeld;
    return release;
  }

  /** A change, and what is made because of it. */
  async change(): Promise<number[]> {
    this.made.length = 0;
    this.version++;
    this.feed.touch();
    this.feed.poll();
    await eventually('an end of the changes', () => this.made.includes(LAST));
    expect(this.failures).toEqual([]);
    return this.made;
  }
}

function textOf(encode: (format: LiveFormat) => Uint8Array): string {
  const text = Buffer.from(encode('json')).toString();
  return text.startsWith('{') ? text : `{${text}}`;
}

/** The document that ends a change: the last of the key with the most documents. */
const LAST = 99;

describe('Live documents', () => {
  it('are made for all keys at once, so that one with many delays only its own', async () => {
    const counted = new CountedFeed();
    for (let minMcap = 0; minMcap <= LAST; minMcap++) await counted.follow('many', minMcap);
    const few = [await counted.follow('few', 1000), await counted.follow('few', 1001)];
    const other = await counted.follow('other', 2000);
    counted.workMs = 2;
    const made = await counted.change();
    expect(made.filter((minMcap) => minMcap <= LAST)).toEqual(
      Array.from({ length: 100 }, (_, i) => i),
    );
    const places = [1000, 1001, 2000].map((minMcap) => made.indexOf(minMcap));
    expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...places)).toBeLessThan(LAST / 2);
    for (const { heard } of [...few, other]) expect(heard).toEqual([0, 1]);
  });

  it('do not wait for the slow ones of another key', async () => {
    const counted = new CountedFeed();
    for (const minMcap of [1, 2, 3]) await counted.follow('slow', minMcap);
    const quick = await counted.follow('quick', LAST);
    const release = counted.hold((minMcap) => minMcap < LAST);
    await counted.change();
    await eventually('the document', () => quick.heard.length === 2);
    expect(counted.made).toEqual(expect.arrayContaining([1, LAST]));
    expect(counted.made).not.toContain(2);
    release();
    await eventually('the rest', () => counted.made.includes(3));
  });

  it('are made once for all of their keys, at the turn of the first', async () => {
    const counted = new CountedFeed();
    for (let minMcap = 1; minMcap <= LAST; minMcap++) await counted.follow('many', minMcap);
    const shared = [await counted.follow('many', 50), await counted.follow('few', 50)];
    const made = await counted.change();
    expect(made.filter((minMcap) => minMcap === 50)).toEqual([50]);
    for (const { heard } of shared) expect(heard).toEqual([0, 1]);
  });

  it('are not made for those who have left, nor sent to them', async () => {
    const counted = new CountedFeed();
    const left = await counted.follow('a', 5);
    const stays = await counted.follow('a', 6);
    const gone = await counted.follow('a', 6);
    await counted.follow('a', LAST);
    left.leave();
    gone.leave();
    expect(await counted.change()).toEqual([6, LAST]);
    expect([left.heard, stays.heard, gone.heard]).toEqual([[0], [0, 1], [0]]);
  });

  it('are sent again to a client that has missed one, though they have not changed since', async () => {
    const counted = new CountedFeed();
    const slow = await counted.follow('a', 5);
    const quick = await counted.follow('b', 5);
    await counted.follow('a', LAST);
    await counted.change();
    slow.catchUp();
    await eventually('the document again', () => slow.heard.length === 3);
    expect([slow.heard, quick.heard]).toEqual([
      [0, 1, 1],
      [0, 1],
    ]);
  });
});
