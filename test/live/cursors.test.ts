/** What a cursor may say, which anyone can write; and which snapshots a subscription is about. */
import { crc32 } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { EngineName } from '../../server/http/engine.js';
import { fathom, type Service, serveHere } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import {
  deleteSnapshots,
  ingestCells,
  LiveClient,
  type Message,
  timesOf,
} from '../support/live-client.js';
import { MINT, OTHER_MINT } from '../support/stores.js';
import { letPass } from '../support/waiting.js';

const DAY_S = 86_400;
const NOW_S = 1_794_086_400;
const OLDEST_S = NOW_S - 365 * DAY_S;
/** Stored, but older than what is served. */
const OLD = NOW_S - 500 * DAY_S;
const T0 = NOW_S - 1000;

/** The parts of a cursor after its names: numbers of base 36, or any text. */
type Parts = readonly (number | string)[];

describe.each<EngineName>(['uws', 'node'])('A cursor on engine %s', (engine) => {
  let directory: string;
  let service: Service;
  let key: string;
  let names: string;

  const subscribe = { op: 'subscribe', id: 'a', channel: 'depth', address: MINT, group: 'all' };
  const begun = async (fields: object): Promise<LiveClient> => {
    const client = await LiveClient.open(service.url, key);
    client.send({ ...subscribe, ...fields });
    return client;
  };
  /** A cursor of which the check is right. */
  const forged = (...parts: Parts): string => {
    const text = [names, ...parts.map((part) => part.toString(36))].join('.');
    return `${text}.${crc32(text).toString(36)}`;
  };
  const answer = async (fields: object): Promise<Message> => {
    const client = await begun(fields);
    const message = await client.next();
    client.socket.close();
    return message;
  };

  beforeAll(async () => {
    directory = temporaryDirectory();
    const terms = ['--tier', 'enterprise', '--rpm', 'unlimited', '--data', directory, '--json'];
    key = (JSON.parse((await fathom(['keys', 'create', ...terms])).stdout) as { key: string }).key;
    service = await serveHere(directory, ['--as-of', String(NOW_S), '--http-engine', engine]);
    await ingestCells(directory, [
      [OLD, 1],
      [OLD + 60, 1],
      [T0, 2],
    ]);
    const { cursor = '' } = await answer({});
    names = cursor.split('.').slice(0, 3).join('.');
    expect(cursor).toBe(forged(2, T0 + 1, T0 + 1));
  });

  it.each<[what: string, parts: Parts]>([
    ['a position below 0', ['-1', T0, T0]],
    ['a time below 0', [0, '-1', '-1']],
    ['no number', [0, T0, '']],
    ['NaN', [0, 'NaN', T0, T0]],
    ['what is no number of its base', [0, '!', T0]],
    ['a number with more after it', [0, `${T0.toString(36)}_`, T0]],
    ['capitals', [0, T0.toString(36).toUpperCase(), T0]],
    ['zeros in front', [0, `0${T0.toString(36)}`, T0]],
    ['more than a whole number', ['zzzzzzzzzzzzzzzzzzzz', T0, T0]],
    ['a beginning after its next time', [0, T0, T0 + 1]],
    ['revisions up to its own position', [0, T0, T0, 0, T0]],
    ['revisions before its beginning', [0, T0 + 9, T0, 1, T0 - 1]],
    ['revisions of snapshots that the client does not have', [0, T0, T0 - 9, 1, T0]],
    ['too few numbers', [0, T0]],
    ['deletions of snapshots that the client does not have', [0, T0, T0 - 9, 1, T0 - 9, T0]],
    ['deletions before the revisions that it has', [0, T0, T0 - 9, 1, T0 - 3, T0 - 4]],
    ['deletions up to the revisions that it has', [0, T0, T0 - 9, 1, T0 - 3, T0 - 3]],
    ['too many numbers', [0, T0, T0 - 9, 1, T0 - 9, T0 - 5, 1]],
  ])('with %s is an error', async (_, parts) => {
    expect(await answer({ cursor: forged(...parts) })).toMatchObject({
      type: 'error',
      error_code: 'invalid_parameter',
      parameter: 'cursor',
      message: 'cursor: expected one from a message of this API',
    });
    const headers = { 'x-api-key': key, 'last-event-id': forged(...parts) };
    const reply = await fetch(`${service.url}/api/v1/stream/${MINT}`, { headers });
    expect([reply.status, await reply.json()]).toMatchObject([
      400,
      {
        parameter: 'Last-Event-ID',
        message: expect.stringMatching(/^Last-Event-ID: expected one/),
      },
    ]);
  });

  it('of a time far ahead is an error, like such a from', async () => {
    const cursor = forged(0, NOW_S + 7200, T0);
    expect((await answer({ cursor })).message).toMatch(
      /^cursor: expected one whose next_from is at most an hour ahead of now \(2026-/,
    );
    const reply = await service.get(`/stream/${MINT}?cursor=${cursor}`, key);
    expect([reply.status, await reply.json()]).toMatchObject([400, { parameter: 'cursor' }]);
    expect((await answer({ cursor: forged(0, NOW_S + 3600, T0) })).type).toBe('subscribed');
  });

  it('of commits that this store has not made begins with reset', async () => {
    for (const parts of [
      [10 ** 6, T0, T0],
      [0, T0, T0 - 9, 10 ** 6, T0 - 1],
    ]) {
      const client = await begun({ cursor: forged(...parts) });
      expect((await client.next()).type).toBe('subscribed');
      expect((await client.next()).type).toBe('reset');
      client.socket.close();
    }
  });

  it('shows nothing that is older than 365 days, in any part of it', async () => {
    const first = await begun({ cursor: forged(0, OLD, OLD) });
    expect(await first.next()).toMatchObject({
      type: 'subscribed',
      clamped: true,
      next_from: OLDEST_S,
    });
    expect(timesOf(await first.next())).toEqual([T0]);
    // Its beginning is still the forged one.
    await ingestCells(directory, [
      [OLD, 3],
      [T0, 3],
    ]);
    const revised = await first.next();
    expect([revised.type, timesOf(revised)]).toEqual(['revised', [T0]]);
    // Those that are older are not listed as deleted either.
    expect((await deleteSnapshots(directory, OLD, OLD + 1)).status).toBe(0);
    expect((await deleteSnapshots(directory, T0, T0 + 1)).status).toBe(0);
    expect(await first.next()).toMatchObject({ type: 'deleted', t: [T0] });
    first.socket.close();
    await ingestCells(directory, [[T0, 4]]);
  });

  it('shows nothing that is older of a token that was unknown when it was written', async () => {
    const client = await begun({ address: OTHER_MINT });
    expect(await client.next()).toMatchObject({ type: 'subscribed', next_from: 0 });
    await ingestCells(
      directory,
      [
        [OLD, 1],
        [T0, 1],
      ],
      OTHER_MINT,
    );
    expect(timesOf(await client.next())).toEqual([T0]);
    client.socket.close();
  });

  it('is about the same snapshots as its subscription, with from and without', async () => {
    const clients = {
      all: await begun({ from: T0 - 500 }),
      new: await begun({}),
    };
    expect((await clients.all.next()).type).toBe('subscribed');
    expect((await clients.new.next()).type).toBe('subscribed');
    expect(timesOf(await clients.all.next())).toEqual([T0]);
    await ingestCells(directory, [[T0 + 100, 1]]);
    for (const client of Object.values(clients)) {
      expect(timesOf(await client.next())).toEqual([T0 + 100]);
    }
    // Late ones, one before each beginning and one after it.
    await ingestCells(directory, [
      [T0 - 600, 2],
      [T0 - 400, 2],
      [T0, 2],
      [T0 + 50, 2],
      [T0 + 100, 2],
    ]);
    const told = async (client: LiveClient) => {
      const { type, t, ...message } = await client.next();
      return [type, type === 'deleted' ? t : timesOf({ type, ...message })];
    };
    expect(await told(clients.all)).toEqual(['revised', [T0 - 400, T0, T0 + 50, T0 + 100]]);
    expect(await told(clients.new)).toEqual(['revised', [T0 + 50, T0 + 100]]);
    expect((await deleteSnapshots(directory, T0 - 700, T0 + 60)).status).toBe(0);
    expect(await told(clients.all)).toEqual(['deleted', [T0 - 400, T0, T0 + 50]]);
    expect(await told(clients.new)).toEqual(['deleted', [T0 + 50]]);
    const clock = letPass(5_000);
    const beat = await clients.new.next(({ type }) => type === 'heartbeat');
    clock.mockRestore();
    clients.new.socket.close();
    clients.all.socket.close();
    // The same holds for what changes while nobody listens.
    await ingestCells(directory, [
      [T0, 5],
      [T0 + 100, 5],
    ]);
    const again = await begun({ cursor: beat.cursor });
    expect((await again.next()).type).toBe('subscribed');
    expect(await told(again)).toEqual(['revised', [T0 + 100]]);
    again.socket.close();
  });

  it('keeps its beginning after a reset', async () => {
    const client = await begun({ cursor: forged(10 ** 6, NOW_S, T0 + 100) });
    expect((await client.next()).type).toBe('subscribed');
    expect((await client.next()).type).toBe('reset');
    await ingestCells(directory, [
      [T0, 6],
      [T0 + 100, 6],
    ]);
    const revised = await client.next();
    expect([revised.type, timesOf(revised)]).toEqual(['revised', [T0 + 100]]);
    client.socket.close();
  });
});
