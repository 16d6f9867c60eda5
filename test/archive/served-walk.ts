/**
 * Random changes of two servers, one with an archive whose objects fail and one without: whatever a client asks, both say
 * the same, or the first one says that its archive cannot be read.
 */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { ReplayPage } from '../../client/index.js';
import type { Tier } from '../../compute/market.js';
import { DAY_S, isoOf } from '../../compute/time.js';
import { fathom, newKey, serve, type Server } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { HeldSnapshots, LiveClient, type Message } from '../support/live-client.js';
import { openStore } from '../support/stores.js';
import { becomes, eventually } from '../support/waiting.js';
import { expectSameExport } from '../export/exports.js';
import { type Fault, FAULTS, type FaultyArchive } from './archive-faults.js';
import { type Deletion, deletion, NOW, rowsOf, T0, TOKENS, type Upload, upload } from './days.js';

type Outcome = Awaited<ReturnType<typeof fathom>>;

/** Before and after every snapshot. */
const [FROM, TO] = [T0 - DAY_S, T0 + 40 * DAY_S];
/** How far a restart moves the clock of both servers: objects that nothing names are past their grace of an hour. */
const RESTART_S = 7200;
/** By retention, in the end. */
const KEPT_DAYS: Readonly<Record<Tier, number>> = { raw: 97, '15m': 98, '1h': 99 };

const ARROW = 'application/vnd.apache.arrow.stream';
const DATASETS = ['cells', 'snapshots'];
const WINDOW = `from=${FROM}&to=${TO}`;

const step = fc.record({
  change: fc.oneof(
    { weight: 5, arbitrary: upload },
    { weight: 2, arbitrary: deletion },
    {
      weight: 7,
      arbitrary: fc.record({
        kind: fc.constantFrom(
          'archive' as const,
          'archive' as const,
          'restore' as const,
          'collect' as const,
          'prune' as const,
          'restart' as const,
          'kill' as const,
          'backup' as const,
        ),
        /** Of the objects that are asked for before a kill, or of the day of a prune. */
        number: fc.nat(9),
      }),
    },
  ),
  fault: fc.record({
    kind: fc.constantFrom(...FAULTS),
    quarters: fc.constantFrom(2, 4, 4),
    /** Otherwise only once the change is made and archived. */
    isInTheWay: fc.boolean(),
  }),
});
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
export const steps = fc.array(step, { minLength: 3, maxLength: 5 });

/** Of /coverage. */
type Tiers = { tier: Tier; first_t: number | null }[];

/** Some days of a token. */
const seriesOf = (address: string): Upload => ({
  kind: 'replace',
  market: 0,
  rows: Array.from({ length: 4 * 48 }, (_, i) => ({
    address,
    tier: 'raw',
    t: T0 + i * 1800,
    cells: [[i % 9, 100 + i, 2000]],
  })),
});

interface Reply {
  status: number;
  tag: string | null;
  code: string | null;
  retryAfter: string | null;
  body: string;
}

async function ask(server: Server, key: string, query: string, accept?: string): Promise<Reply> {
  const headers = { 'x-api-key': key, ...(accept !== undefined && { accept }) };
  const reply = await fetch(`${server.url}/api/v1${query}`, { headers });
  const body = Buffer.from(await reply.arrayBuffer()).toString('latin1');
  const isRefusal = reply.status >= 400;
  return {
    status: reply.status,
    tag: reply.headers.get('etag'),
    code: isRefusal ? (JSON.parse(body) as { error_code: string }).error_code : null,
    retryAfter: reply.headers.get('retry-after'),
    // A refusal names its request.
    body: isRefusal ? '' : body,
  };
}

export class ServedWalk {
  private archived!: Server;
  private plain!: Server;
  private readonly folder = temporaryDirectory();
  private data = path.join(this.folder, 'data');
  private readonly plainData = path.join(this.folder, 'plain');
  private readonly out = path.join(this.folder, 'export');
  private key = '';
  private nowS = NOW;
  private made = 0;
  private retention: Record<string, string> = {};
  private fault: Fault | null = null;
  /** What a client of the archived server holds, by token. */
  private held = new Map<string, HeldSnapshots>();
  /** Replies, messages, exports and changes that were the same, and those that the archive refused. */
  readonly tally = { same: 0, refused: 0 };

  /** @param cached whether the server keeps blocks and pages in memory and on the disk */
  constructor(
    private readonly archive: FaultyArchive,
    private readonly cached: boolean,
  ) {}

  async start(): Promise<void> {
    await (await openStore(this.data)).close();
    this.key = await newKey(this.data);
    cpSync(this.data, this.plainData, { recursive: true });
    await Promise.all([this.startArchived(), this.startPlain()]);
    for (const address of TOKENS) await this.upload(seriesOf(address));
    await this.run(['archive', 'run']);
  }

  async end(): Promise<void> {
    await Promise.all([this.archived, this.plain].map((server) => server?.stop('SIGKILL')));
    await this.archive.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async take({ change, fault }: Step): Promise<void> {
    if (fault.isInTheWay) this.begin(fault);
    await this.change(change);
    if (!fault.isInTheWay) {
      if (change.kind !== 'restore') await this.run(['archive', 'run']);
      this.begin(fault);
    }
    await this.expectSame();
    this.over();
    await this.expectSame();
  }

  /** Retention of both, while the archive fails and after that, is the same. */
  async expectRetention(fault: Fault): Promise<void> {
    await this.run(['archive', 'run']);
    for (const data of [this.data, this.plainData]) {
      const allowed = await fathom(['retention', '--allow', isoOf(this.nowS), '--data', data]);
      expect(allowed).toMatchObject({ status: 0 });
    }
    this.retention = {
      FATHOM_RETENTION: JSON.stringify(
        Object.fromEntries(Object.entries(KEPT_DAYS).map(([tier, days]) => [tier, `${days}d`])),
      ),
    };
    await this.restart();
    this.begin(fault);
    const isRetired = async (server: Server): Promise<boolean> => {
      const all = await Promise.all(TOKENS.map((address) => this.tiersOf(server, address)));
      return all
        .flat()
        .every(
          ({ tier, first_t: first }) =>
            (first ?? Infinity) >= Math.floor(this.nowS / DAY_S - KEPT_DAYS[tier]) * DAY_S,
        );
    };
    await becomes(() => isRetired(this.plain), true);
    this.over();
    // What failed is tried again within a minute, and after a start.
    await this.archived.stop('SIGKILL');
    await this.startArchived();
    const tiers = (server: Server) => Promise.all(TOKENS.map((one) => this.tiersOf(server, one)));
    await becomes(() => tiers(this.archived), await tiers(this.plain));
    await this.expectSame();
  }

  private async tiersOf(server: Server, address: string): Promise<Tiers> {
    const reply = await server.get(`/coverage/${address}`, this.key);
    return ((await reply.json()) as { tiers: Tiers }).tiers;
  }

  private begin(fault: Fault): void {
    this.fault = fault;
    this.archive.begin(fault);
  }

  private over(): void {
    this.fault = null;
    this.archive.end();
  }

  private startArchived = async (): Promise<void> => {
    const none = ['fragments-memory-mib', 'fragments-disk-gib', 'blocks-memory-mib'];
    const bare = [...none, 'archive-cache-gib'].flatMap((name) => [`--${name}`, '0']);
    const archive = [...this.archive.flags, '--archive-after', '1h', '--archive-grace', '1h'];
    const words = [...archive, ...(this.cached ? [] : bare)];
    this.archived = await this.serve(this.data, words);
  };

  private startPlain = async (): Promise<void> => {
    this.plain = await this.serve(this.plainData, []);
  };

  private serve(data: string, words: readonly string[]): Promise<Server> {
    const all = ['--port', '0', '--threads', '1', '--as-of', String(this.nowS), ...words];
    return serve(data, all, { env: { ...this.archive.environment, ...this.retention } });
  }

  private async restart(): Promise<void> {
    await Promise.all([this.archived.stop(), this.plain.stop()]);
    this.nowS += RESTART_S;
    await Promise.all([this.startArchived(), this.startPlain()]);
  }

  private async change(change: Step['change']): Promise<void> {
    switch (change.kind) {
      case 'replace':
      case 'merge':
        return this.upload(change);
      case 'delete':
        return this.delete(change);
      case 'prune': {
        const day = isoOf(T0 + change.number * (DAY_S / 2));
        return this.both(['prune', '--before', day, '--yes']);
      }
      case 'archive':
        return this.run(['archive', 'run']);
      case 'restore':
        return this.run(['archive', 'restore', '--from', isoOf(FROM), '--to', isoOf(TO)]);
      case 'collect':
        // The store may be a copy of the owner.
        return this.run(['archive', 'collect', '--take-over']);
      case 'restart':
        return this.restart();
      case 'kill': {
        const killed = new Promise<void>((resolve) =>
          this.archive.after(change.number, () => resolve()),
        );
        const running = fathom(['archive', 'run', '--data', this.data]);
        await Promise.race([killed, running]);
        await this.archived.stop('SIGKILL');
        await running;
        return this.startArchived();
      }
      case 'backup':
        return this.goOnFromBackup();
    }
  }

  private upload(sent: Upload): Promise<void> {
    const file = path.join(this.folder, `file-${++this.made}.ndjson`);
    writeFileSync(
      file,
      rowsOf(sent)
        .map((row) => `${JSON.stringify(row)}\n`)
        .join(''),
    );
    const merge = sent.kind === 'merge' ? ['--merge'] : [];
    return this.both(['ingest', 'snapshots', file, ...merge]);
  }

  private delete({ address, fromS, lengthS }: Deletion): Promise<void> {
    const span = ['--from', isoOf(fromS), '--to', isoOf(fromS + lengthS)];
    return this.both(['delete', '--token', `mainchain:${address}`, ...span, '--yes']);
  }

  /** A change of both stores, or of none if the archive is in its way. */
  private async both(words: readonly string[]): Promise<void> {
    const done = await this.atArchive(words);
    if (done === null) return;
    const expected = await fathom([...words, '--data', this.plainData]);
    expect([words, done.status, done.stderr]).toEqual([words, expected.status, expect.anything()]);
    this.tally.same++;
  }

  /** Of the archive alone. */
  private async run(words: readonly string[]): Promise<void> {
    const done = await this.atArchive(words);
    if (done !== null) expect([words, done]).toMatchObject([words, { status: 0 }]);
  }

  /**
   * Runs a command on the store with the archive; once a fault is over, again until the server has noticed that.
   * @returns null if it failed for the archive's sake
   */
  private async atArchive(words: readonly string[]): Promise<Outcome | null> {
    const isRefused = ({ status, stderr }: Outcome): boolean =>
      status !== 0 && /archive|object|(s3|file):/.test(stderr);
    let done = await fathom([...words, '--data', this.data]);
    if (!isRefused(done)) return done;
    if (this.fault === null) {
      await eventually(
        () => done.stderr,
        async () => !isRefused((done = await fathom([...words, '--data', this.data]))),
      );
      return done;
    }
    this.tally.refused++;
    return null;
  }

  private async goOnFromBackup(): Promise<void> {
    const out = path.join(this.folder, `backup-${++this.made}`);
    const done = await fathom(['backup', '--data', this.data, '--out', out]);
    expect(done).toMatchObject({ status: 0 });
    await this.archived.stop();
    this.data = out;
    await this.startArchived();
    // From its first change on it is another store, whose clients begin again. This one needs no object.
    const late = T0 + 30 * DAY_S + this.made;
    await this.upload({
      ...seriesOf(TOKENS[0]),
      rows: [{ address: TOKENS[0], tier: 'raw', t: late, cells: [[1, 200, 300]] }],
    });
    this.held.clear();
  }

  private async expectSame(): Promise<void> {
    await this.expectReplies();
    await this.expectLive();
    await this.expectExport();
  }

  private async expectReplies(): Promise<void> {
    for (const address of TOKENS) {
      for (const view of ['group=market', 'group=all', 'step=1h&venues=orca']) {
        for (let from: number | null = FROM; from !== null;) {
          const page = `/replay/${address}?from=${from}&to=${TO}&${view}`;
          const reply = await this.expectReply(page);
          if (reply === null) break;
          ({ next_from: from = null } = JSON.parse(reply.body) as ReplayPage);
        }
      }
      await this.expectReply(`/replay/${address}?${WINDOW}&group=venue`, ARROW);
      await this.expectReply(`/replay/${address}?${WINDOW}&min_pct=-5`, 'application/msgpack');
      for (const path_ of [
        `/replay/${address}/plan?${WINDOW}`,
        `/coverage/${address}`,
        `/depth-series/${address}?${WINDOW}&step=4h&pct=2`,
        `/depth-series/${address}?${WINDOW}&step=1d&group=venue`,
        `/slippage/${address}?side=sell&usd=1000&at=${T0 + 2 * DAY_S}`,
        `/score/${address}?at=${T0 + 3 * DAY_S}`,
      ]) {
        await this.expectReply(path_);
      }
    }
  }

  /** @returns the reply with data, or null */
  private async expectReply(query: string, accept?: string): Promise<Reply | null> {
    const expected = await ask(this.plain, this.key, query, accept);
    let reply!: Reply;
    await eventually(
      () => `${query} answers: ${JSON.stringify(reply)}`,
      async () => {
        reply = await ask(this.archived, this.key, query, accept);
        return reply.status !== 503 || this.fault !== null;
      },
      100,
    );
    if (reply.status === 503) {
      expect([query, reply.code, reply.retryAfter]).toEqual([query, 'archive_unavailable', '5']);
      this.tally.refused++;
      return null;
    }
    const { body, ...rest } = reply;
    const { body: expectedBody, ...expectedRest } = expected;
    expect([query, rest]).toEqual([query, expectedRest]);
    expect([query, differenceOf(body, expectedBody)]).toEqual([query, null]);
    this.tally.same++;
    return reply.status === 200 ? reply : null;
  }

  /** A client that goes on with its cursor holds what the other server's pages have. */
  private async expectLive(): Promise<void> {
    for (const address of TOKENS) {
      const shown = await this.shownByPlain(address);
      if (shown === null) continue;
      const held = this.held.get(address) ?? new HeldSnapshots(address);
      this.held.set(address, held);
      let isRefused = true;
      for (let tries = 0; isRefused && (tries === 0 || this.fault === null); tries++) {
        isRefused = await this.listen(address, held, shown);
      }
      if (isRefused) this.tally.refused++;
      else this.tally.same++;
      expect([address, held.fault]).toEqual([address, null]);
    }
  }

  /** @returns whether the archive could not be read */
  private async listen(address: string, held: HeldSnapshots, shown: string): Promise<boolean> {
    const client = await LiveClient.open(this.archived.url, this.key);
    const where = held.cursor === null ? { from: FROM } : { cursor: held.cursor };
    const subscription = { op: 'subscribe', id: 'a', channel: 'depth', group: 'all', address };
    client.send({ ...subscription, ...where });
    let refusal: Message | undefined;
    await eventually(
      () => `${address}: ${differenceOf(held.text, shown)}`,
      () => {
        for (const message of client.messages.splice(0)) {
          if (message.error_code === 'archive_unavailable') refusal = message;
          else held.take(message);
        }
        return refusal !== undefined || held.fault !== null || held.text === shown;
      },
    );
    client.socket.terminate();
    if (refusal !== undefined) expect(refusal).toMatchObject({ type: 'error', retry_ms: 5000 });
    return refusal !== undefined;
  }

  private async shownByPlain(address: string): Promise<string | null> {
    const snapshots: object[] = [];
    for (let from: number | null = FROM; from !== null;) {
      const query = `/replay/${address}?from=${from}&to=${TO}&group=all`;
      const { status, body } = await ask(this.plain, this.key, query);
      if (status === 404) return null;
      const page = JSON.parse(body) as ReplayPage;
      snapshots.push(...page.snapshots);
      from = page.next_from;
    }
    return JSON.stringify(snapshots);
  }

  /** An export that follows the changes has what a new one of the other server has. */
  private async expectExport(): Promise<void> {
    const words = [
      'export',
      '--as-of',
      String(NOW),
      '--dataset',
      'cells',
      '--dataset',
      'snapshots',
    ];
    const done = await this.atArchive([...words, '--out', this.out]);
    if (done === null) return;
    expect(done).toMatchObject({ status: 0 });
    const fresh = path.join(this.folder, `fresh-${++this.made}`);
    const expected = await fathom([...words, '--out', fresh, '--data', this.plainData]);
    expect(expected).toMatchObject({ status: 0 });
    await expectSameExport([], this.out, fresh, DATASETS);
    rmSync(fresh, { recursive: true });
    this.tally.same++;
  }
}

/** Where two texts begin to differ; null: nowhere. */
function differenceOf(found: string, expected: string): string | null {
  if (found === expected) return null;
  let at = 0;
  while (found[at] === expected[at]) at++;
  const around = (text: string): string => text.slice(Math.max(0, at - 100), at + 100);
  return `at ${at}: ...${around(found)}... instead of ...${around(expected)}...`;
}
