import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { backupStore } from '../../storage/backup.js';
import { DATABASE_FILE } from '../../storage/data-directory.js';
import { Database } from '../../storage/duckdb/database.js';
import { ensureSchema } from '../../storage/schema.js';
import { SharedUsage } from '../../storage/log/shared-usage.js';
import type { JetStreamLog } from '../../storage/log/jetstream.js';
import type { KeyDayUsage } from '../../storage/contract.js';
import { UsageBook } from '../../storage/keys/usage-book.js';
import { openStore } from '../support/stores.js';
import { becomes, eventually } from '../support/waiting.js';
import { temporaryDirectory } from '../support/folders.js';

const OPTIONS = { memoryLimitMiB: 128, threads: 1 };

let directory: string;
let database: Database;
const errors: unknown[] = [];

beforeEach(async () => {
  directory = temporaryDirectory();
  await openDatabase();
});
afterEach(async () => {
  vi.useRealTimers();
  await database.close();
  errors.length = 0;
});

async function openDatabase() {
  const file = path.join(directory, 'test.duckdb');
  database = await Database.openFile(file, OPTIONS);
  await ensureSchema(database, file);
}
const load = () => UsageBook.load(database, (error) => errors.push(error));
const stored = () =>
  database.rows(
    'SELECT key_id, day // 100, sum(calls)::BIGINT FROM usage GROUP BY ALL ORDER BY ALL',
  );
/** The counter of one day of a month and one endpoint. */
const counterIn = (book: UsageBook, keyId: string, month: number) =>
  book.counter(keyId, month * 100 + 22, 'GET /a');
/** Of key_a, to one endpoint on one day. */
const counted = (day: number, calls: number): KeyDayUsage => ({
  keyId: 'key_a',
  day,
  endpoint: 'GET /a',
  calls,
});

type Listener = (message: unknown) => unknown;

/** Messages between nodes, as JetStreamLog brings them. */
function busOfNodes(): JetStreamLog {
  const listeners: Listener[] = [];
  return {
    listen: (_topic: string, listener: Listener) => Promise.resolve(void listeners.push(listener)),
    broadcast: (_topic: string, message: unknown) => listeners.forEach((listen) => listen(message)),
  } as unknown as JetStreamLog;
}

/** A node's connection to a bus, which may be cut. */
function connectionTo(bus: JetStreamLog): { log: JetStreamLog; isCut: boolean } {
  const connection = {
    isCut: false,
    log: {
      listen: (topic: string, listener: Listener) =>
        bus.listen(topic, (message) => (connection.isCut ? undefined : listener(message))),
      broadcast: (topic: string, message: unknown) => {
        if (!connection.isCut) bus.broadcast(topic, message);
      },
    } as unknown as JetStreamLog,
  };
  return connection;
}

/** The books of two nodes on a bus, each with a separate database; `close` expects no error. */
async function twoNodes() {
  const bus = busOfNodes();
  const file = path.join(directory, 'other.duckdb');
  const others = await Database.openFile(file, OPTIONS);
  await ensureSchema(others, file);
  const onError = (error: unknown) => errors.push(error);
  const [one, other] = await Promise.all(
    [database, others].map((of) => UsageBook.load(of, onError)),
  );
  const sharing: SharedUsage[] = [];
  return {
    bus,
    one,
    other,
    share(book: UsageBook, name: string, log = bus): void {
      sharing.push(new SharedUsage(book, log, name, onError));
    },
    async close(): Promise<void> {
      await Promise.all(sharing.map((each) => each.close()));
      await Promise.all([one.close(), other.close()]);
      await others.close();
      expect(errors).toEqual([]);
    },
  };
}

const namesKey = (message: unknown): number => Number(JSON.stringify(message).includes('key_a'));

describe('a usage book', () => {
  it('counts at once and writes within a second', async () => {
    const book = await load();
    const counter = counterIn(book, 'key_a', 202611);
    const month = book.month('key_a', 202611);
    for (const [added, before, calls] of [
      [5, [], 5],
      [1, [['key_a', 202611, 5]], 6],
    ] as const) {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      counter.add(added);
      expect([month.calls, book.month('key_a', 202611).calls]).toEqual([calls, calls]);
      expect(await stored()).toEqual(before);
      vi.advanceTimersByTime(900);
      vi.useRealTimers();
      await becomes(stored, [['key_a', 202611, calls]]);
    }
    await book.close();
  });

  it('continues where the previous one ended, month by month', async () => {
    const before = await load();
    counterIn(before, 'key_a', 202611).add(5);
    counterIn(before, 'key_a', 202612).add(7);
    counterIn(before, 'key_b', 202612).add(1);
    await before.close();
    await database.close();
    await openDatabase();
    const after = await load();
    const counts = (month: number) => ['key_a', 'key_b'].map((id) => after.month(id, month).calls);
    expect([counts(202611), counts(202612), counts(202701)]).toEqual([
      [5, 0],
      [7, 1],
      [0, 0],
    ]);
    counterIn(after, 'key_b', 202612).add(1);
    await after.close();
    expect(await stored()).toContainEqual(['key_b', 202612, 2]);
  });

  it('loses nothing counted while it writes', async () => {
    const book = await load();
    const ids = Array.from({ length: 1200 }, (_, i) => `key_${String(i).padStart(4, '0')}`);
    let flushes: Promise<void>[] = [];
    for (let round = 0; round < 5; round++) {
      for (const id of ids) counterIn(book, id, 202611).add(1);
      flushes = [...flushes, book.flush(), book.flush()];
      await new Promise((resolve) => setImmediate(resolve));
      counterIn(book, ids[0], 202611).add(1);
    }
    await Promise.all(flushes);
    await book.close();
    const rows = await stored();
    expect(rows.map(([id, , calls]) => [id, calls])).toEqual(
      ids.map((id, i) => [id, i === 0 ? 10 : 5]),
    );
  });

  it('does not wait for a long transaction', async () => {
    const book = await load();
    let endTransaction = () => {};
    const ended = new Promise<void>((resolve) => (endTransaction = resolve));
    const transaction = database.transaction(async (tx) => {
      await tx.run("INSERT INTO meta VALUES ('test', 'x')");
      await ended;
    });
    counterIn(book, 'key_a', 202611).add(4);
    await book.flush();
    expect(await stored()).toEqual([['key_a', 202611, 4]]);
    endTransaction();
    await transaction;
    await book.close();
  });

  it('does not obstruct a checkpoint', async () => {
    const book = await load();
    for (let i = 0; i < 20; i++) {
      counterIn(book, 'key_a', 202611).add(1);
      // DuckDB refuses a checkpoint while another connection writes.
      await Promise.all([book.flush(), database.checkpoint(), database.checkpoint()]);
    }
    expect(await stored()).toEqual([['key_a', 202611, 20]]);
    expect(errors).toEqual([]);
    await book.close();
  });

  it('reports a failed write, and retries until it succeeds', async () => {
    const book = await load();
    await database.run('ALTER TABLE usage RENAME TO away');
    counterIn(book, 'key_a', 202611).add(4);
    await eventually('the failure is reported', () => errors.length >= 2);
    counterIn(book, 'key_a', 202611).add(1);
    await database.run('ALTER TABLE away RENAME TO usage');
    const isWritten = () =>
      book.flush().then(
        () => true,
        () => false,
      );
    // A retry that began before may still fail.
    await eventually('it is written', isWritten);
    expect(await stored()).toEqual([['key_a', 202611, 5]]);
    const before = errors.length;
    counterIn(book, 'key_a', 202611).add(1);
    await book.flush();
    expect(await stored()).toEqual([['key_a', 202611, 6]]);
    expect(errors.length).toBe(before);
    await book.close();
  });

  it('counts calls by day and endpoint, each once, though writes fail', async () => {
    const book = await load();
    await database.run('ALTER TABLE usage RENAME TO away');
    book.counter('key_a', 20261122, 'GET /b').add(2);
    await eventually('the failure is reported', () => errors.length >= 2);
    book.counter('key_a', 20261122, 'GET /b').add(1);
    await database.run('ALTER TABLE away RENAME TO usage');
    book.counter('key_a', 20261101, 'GET /a').add(1);
    book.counter('key_a', 20261201, 'GET /a').add(7);
    book.counter('key_b', 20261122, 'GET /b').add(9);
    const want = [
      { day: 20261101, endpoint: 'GET /a', calls: 1 },
      { day: 20261122, endpoint: 'GET /b', calls: 3 },
    ];
    expect(await book.ofMonth('key_a', 202611)).toEqual(want);
    await book.close();
    const after = await load();
    after.counter('key_a', 20261122, 'GET /b').add(1);
    expect((await after.ofMonth('key_a', 202611))[1].calls).toBe(4);
    await after.close();
  });

  it('keeps a few months in memory, and every one on disk', async () => {
    const book = await load();
    for (let month = 202601; month <= 202612; month++) {
      counterIn(book, 'key_a', month).add(month);
      await book.flush();
    }
    expect((await stored()).length).toBe(12);
    expect(book.month('key_a', 202609).calls).toBe(202609);
    await book.close();
  });

  it('adds up days, endpoints and nodes, and stores each apart', async () => {
    const book = await load();
    await book.countAs('a');
    const rows = [counted(20261101, 2), { ...counted(20261101, 3), endpoint: 'GET /b' }];
    for (const row of rows) book.counter(row.keyId, row.day, row.endpoint).add(row.calls);
    await Promise.all([
      book.flush(),
      book.merge('b', [counted(20261101, 5), counted(20261102, 7)]),
    ]);
    // An earlier count, and a later one with a day that is known.
    await book.merge('b', [counted(20261101, 4)]);
    await book.merge('b', [counted(20261101, 6), counted(20261102, 7)]);
    expect(book.month('key_a', 202611).calls).toBe(2 + 3 + 6 + 7);
    expect(await stored()).toEqual([['key_a', 202611, 18]]);
    expect(await book.ofMonth('key_a', 202611)).toEqual([
      { day: 20261101, endpoint: 'GET /a', calls: 8 },
      { day: 20261101, endpoint: 'GET /b', calls: 3 },
      { day: 20261102, endpoint: 'GET /a', calls: 7 },
    ]);
    expect(await book.report(20261101, true)).toEqual(rows);
    expect(await book.known('b', 20261101)).toEqual([counted(20261101, 6), counted(20261102, 7)]);
    await book.close();
    const again = await load();
    expect(again.month('key_a', 202611).calls).toBe(18);
    await again.close();
  });

  it('changes no sum if counts of another node cannot be written', async () => {
    const book = await load();
    await database.run('ALTER TABLE usage RENAME TO away');
    await expect(book.merge('b', [counted(20261101, 5)])).rejects.toThrow(/usage/);
    expect(book.month('key_a', 202611).calls).toBe(0);
    await database.run('ALTER TABLE away RENAME TO usage');
    await book.merge('b', [counted(20261101, 5)]);
    expect(book.month('key_a', 202611).calls).toBe(5);
    await book.close();
  });

  it('of a single server that becomes a node belong to the node, also in a copy that another node starts with', async () => {
    const [day, month] = [20261122, 202611];
    const single = await load();
    single.counter('key_a', day, 'GET /a').add(2);
    await single.close();
    for (const [name, added] of [
      ['a', 1],
      ['b', 10],
      // Without a cluster for a while, and then a node again.
      [null, 100],
      ['a', 1000],
    ] as const) {
      const book = await load();
      if (name !== null) await book.countAs(name);
      book.counter('key_a', day, 'GET /a').add(added);
      await book.close();
    }
    const book = await load();
    expect(book.month('key_a', month).calls).toBe(1113);
    expect([await book.known('a', day), await book.known('b', day)]).toEqual([
      [counted(day, 1103)],
      [counted(day, 10)],
    ]);
    expect(await stored()).toEqual([['key_a', month, 1113]]);
    await book.close();
  });

  it('reports what was counted before the month ended, even when it reports all of the new one', async () => {
    const book = await load();
    await book.countAs('a');
    const count = (month: number, day: number): void =>
      book.counter('key_a', month * 100 + day, 'GET /b').add(1);
    const reported = async (sinceDay: number, isAll: boolean): Promise<unknown> =>
      (await book.report(sinceDay, isAll)).map(({ day, calls }) => [day, calls]);
    count(202610, 31);
    count(202611, 1);
    expect(await reported(20261031, false)).toEqual([
      [20261031, 1],
      [20261101, 1],
    ]);
    expect(await reported(20261031, false)).toEqual([]);
    expect(await reported(20261001, true)).toHaveLength(2);
    expect(await reported(20261101, true)).toEqual([[20261101, 1]]);
    await book.close();
  });

  it('gives a backup what was counted before it', async () => {
    const [data, out] = [path.join(directory, 'data'), path.join(directory, 'copy')];
    const store = await openStore(data);
    const count = (): void => {
      for (let i = 0; i < 600; i++) store.usage.counter(`key_${i}`, 20261122, 'GET /a').add(1);
    };
    count();
    const counting = setInterval(count, 1);
    await backupStore({ directory: data, out, useStore: (body) => body(store) });
    clearInterval(counting);
    await store.close();
    const copy = await Database.openReadOnly(path.join(out, DATABASE_FILE), OPTIONS);
    const rows = await copy.rows('SELECT key_id, calls FROM usage');
    await copy.close();
    expect(rows).toHaveLength(600);
    for (const [, calls] of rows) expect(calls).toBeGreaterThan(0);
  });

  it('of a node that begins in a new month has the last calls of the month before', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 9, 31, 23, 59, 59) });
    const { bus, one, other, ...nodes } = await twoNodes();
    await one.countAs('a');
    await other.countAs('b');
    let heard = 0;
    await bus.listen('usage', (message) => void (heard += namesKey(message)));
    nodes.share(one, 'a');
    one.counter('key_a', 20261031, 'GET /a').add(3);
    await eventually('a message comes', () => heard > 0);
    vi.setSystemTime(Date.UTC(2026, 10, 12));
    nodes.share(other, 'b');
    await eventually('it has them', () => other.month('key_a', 202610).calls === 3);
    expect(await other.ofMonth('key_a', 202610)).toEqual([
      { day: 20261031, endpoint: 'GET /a', calls: 3 },
    ]);
    await nodes.close();
  });

  it('of every node knows when a key was last used on any of them, also after a restart', async () => {
    const { bus, one, other, ...nodes } = await twoNodes();
    one.use('key_a', 3600);
    nodes.share(one, 'a');
    nodes.share(other, 'b', connectionTo(bus).log);
    await eventually('b knows', () => other.lastUsedS('key_a') === 3600);
    other.use('key_a', 7200);
    other.use('key_b', 7200);
    one.use('key_a', 3600);
    await eventually('a knows', () => one.lastUsedS('key_b') === 7200);
    expect(one.lastUsedS('key_a')).toBe(7200);
    expect(one.lastUsedS('key_c')).toBeNull();
    await nodes.close();
    const again = await load();
    expect(['key_a', 'key_b'].map((id) => again.lastUsedS(id))).toEqual([7200, 7200]);
    await again.close();
  });

  it('of a node that was cut off for days has the days in between too', async () => {
    const at = (day: number): number => Date.UTC(2026, 10, day, 12);
    vi.useFakeTimers({ toFake: ['Date'], now: at(3) });
    const { bus, one, other, ...nodes } = await twoNodes();
    await one.countAs('a');
    await other.countAs('b');
    const connection = connectionTo(bus);
    nodes.share(one, 'a');
    nodes.share(other, 'b', connection.log);
    const want: { day: number; endpoint: string; calls: number }[] = [];
    const count = (day: number): void => {
      vi.setSystemTime(at(day));
      one.counter('key_a', 20261100 + day, 'GET /a').add(day);
      want.push({ day: 20261100 + day, endpoint: 'GET /a', calls: day });
    };
    const days = () => other.ofMonth('key_a', 202611);
    count(3);
    await becomes(days, want);
    connection.isCut = true;
    let messages = 0;
    await bus.listen('usage', (message) => void (messages += namesKey(message)));
    count(6);
    await eventually('a message comes', () => messages > 0);
    connection.isCut = false;
    count(9);
    await becomes(days, want);
    expect(other.month('key_a', 202611).calls).toBe(18);
    await nodes.close();
  });

  it('of a node adds what it regains to what it has counted since it began', async () => {
    const [month, day] = [202611, 20261122];
    const count = (book: UsageBook, calls: number): void =>
      book.counter('key_a', day, 'GET /a').add(calls);
    const reported = (calls: number) => [counted(day, calls)];
    const killed = await load();
    await killed.countAs('a');
    count(killed, 2);
    await killed.flush();
    const again = await load();
    await again.countAs('a');
    count(again, 1);
    await again.flush();
    count(again, 3);
    // Two nodes send it: a single call is lost.
    await Promise.all([again.merge('a', reported(3)), again.merge('a', reported(3))]);
    expect(again.month('key_a', month).calls).toBe(7);
    expect(await again.report(day, true)).toEqual(reported(7));
    // What others know from now on may be what it has just sent them.
    count(again, 1);
    await again.merge('a', reported(7));
    expect(await again.report(day, true)).toEqual(reported(8));
    await again.close();
    await killed.close();
  });

  it('of a node receives from the others what it lost when it was killed', async () => {
    const nodes = await twoNodes();
    const { one: before, other } = nodes;
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 22, 12) });
    const [month, day] = [202611, 20261122];
    const usage = [counted(day, 5)];
    await other.countAs('b');
    await other.merge('a', usage);
    expect(await other.known('a', month * 100)).toEqual(usage);
    nodes.share(other, 'b');

    await before.countAs('a');
    before.counter('key_a', day, 'GET /a').add(2);
    await before.flush();
    const killed = await load();
    await killed.countAs('a');
    nodes.share(killed, 'a');
    await eventually('it has its calls again', () => killed.month('key_a', month).calls === 5);
    await killed.merge('a', [counted(day, 4)]);
    expect(killed.month('key_a', month).calls).toBe(5);
    expect(await killed.ofMonth('key_a', month)).toEqual([{ day, endpoint: 'GET /a', calls: 5 }]);
    await killed.close();
    await nodes.close();
  });
});
