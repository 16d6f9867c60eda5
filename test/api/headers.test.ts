/** Requests as sent over the wire, in both engines: headers of several lines, and bodies that are not read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Exchange, type ExchangeHost, type ReplyHead } from '../../server/http/exchange.js';
import { loadEngine } from '../../server/http/load-engine.js';
import { Limiter } from '../../server/limits/limiter.js';
import { DEFAULT_PLANS } from '../../server/limits/plans.js';
import { loggerInto } from '../support/logger.js';
import { MemoryDepth } from '../support/memory-depth.js';
import { MemoryUsage } from '../support/memory-sources.js';
import { RawClient } from '../support/raw-client.js';
import {
  ENTERPRISE_KEY,
  KEY,
  MINT,
  NOW_S,
  startTestService,
  steadyStore,
  type TestService,
} from '../support/service.js';
import { eventually } from '../support/waiting.js';
import { ENGINES } from '../support/engines.js';

/** A request that no engine has received. */
class MadeUp extends Exchange {
  protected readonly canUpgrade = false;

  constructor(
    exchanges: ExchangeHost,
    key: string,
    private readonly onReply: (status: number) => void,
  ) {
    const lines = { names: ['x-api-key'], values: [key] };
    super(exchanges, { method: 'POST', path: '/api/v1/score', query: '', ...lines });
  }

  protected address = () => '127.0.0.1';
  protected receive = () => undefined;
  protected upgrade = () => undefined;
  protected cut = () => undefined;
  protected sendStream = () => ({
    waitingBytes: 0,
    write: () => undefined,
    end: () => undefined,
    cut: () => undefined,
  });

  protected send({ status }: ReplyHead): boolean {
    this.onReply(status);
    return true;
  }
}

const PAGE = `/api/v1/replay/${MINT}?from=${NOW_S - 3600}&to=${NOW_S - 60}`;

describe.each(ENGINES)('over engine %s', (name) => {
  let service: TestService;
  let exchanges: ExchangeHost;
  let onRequest: (exchange: Exchange) => void;
  /** Requests whose body was read. */
  let bodiesRead = 0;

  beforeAll(async () => {
    const engine = await loadEngine(name, loggerInto([]));
    const countBodies = (exchange: Exchange): void => {
      const received = exchange as unknown as { receive: (onChunk: unknown) => void };
      const receive = received.receive.bind(exchange);
      received.receive = (onChunk) => {
        bodiesRead++;
        receive(onChunk);
      };
    };
    const depth = new MemoryDepth().add('mainchain', MINT, steadyStore(30, 20));
    const { premium, enterprise } = DEFAULT_PLANS;
    const rates = { ...enterprise.rates, general: { requests: 20, periodS: 86_400 } };
    service = await startTestService({
      depth,
      limiter: new Limiter({
        usage: new MemoryUsage(),
        plans: { premium, enterprise: { ...enterprise, rates } },
      }),
      engine: {
        name,
        listen(options) {
          ({ exchanges } = options);
          onRequest = (exchange) => {
            countBodies(exchange);
            options.onRequest(exchange);
          };
          return engine.listen({ ...options, onRequest });
        },
      },
    });
  });
  afterAll(() => service.stop());

  /** The head of the reply to a request with these lines. */
  async function headOf(lines: readonly string[], path = PAGE): Promise<string> {
    const client = await RawClient.connect(service.server.port);
    client.send([`GET ${path} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n'));
    const [head] = (await client.until('\r\n\r\n')).split('\r\n\r\n');
    client.socket.destroy();
    return head;
  }
  const key = `x-api-key: ${ENTERPRISE_KEY}`;

  describe('a header with several lines is one list', () => {
    it('If-None-Match', async () => {
      const [, tag] = /\r\nETag: (\S+)/.exec(await headOf([key])) ?? [];
      expect(tag).toMatch(/^"/);
      const others = ['If-None-Match: "other", W/"another"', 'X-Other: a'];
      expect(await headOf([key, ...others, `If-None-Match: ${tag}`])).toContain('HTTP/1.1 304 ');
      expect(await headOf([key, ...others, 'If-None-Match: "third"'])).toContain('HTTP/1.1 200 ');
    });

    it.each([PAGE, `/api/v1/replay/${MINT}/plan?from=${NOW_S - 3600}&to=${NOW_S - 60}`])(
      'Accept and Accept-Encoding: %s',
      async (path) => {
        const accepts = ['Accept: application/json;q=0.1', 'Accept: application/msgpack'];
        const codings = ['Accept-Encoding: identity;q=0', 'Accept-Encoding: gzip'];
        const head = await headOf([key, ...accepts, ...codings], path);
        expect(head).toContain('\r\nContent-Type: application/msgpack\r\n');
        expect(head).toContain('\r\nContent-Encoding: gzip\r\n');
      },
    );

    it('Accept-Encoding of a file', async () => {
      const codings = ['Accept-Encoding: gzip;q=0.5', 'Accept-Encoding: br'];
      expect(await headOf(codings, '/docs')).toContain('\r\nContent-Encoding: br\r\n');
    });

    it('Want-Repr-Digest', async () => {
      const wants = ['Want-Repr-Digest: md5=9', 'Want-Repr-Digest: sha-256=5'];
      expect(await headOf([key, ...wants])).toContain('\r\nRepr-Digest: sha-256=');
    });

    it('but not for headers with a single value', async () => {
      expect(await headOf([key, key])).toContain('HTTP/1.1 401 ');
      const head = await headOf([key, 'X-Request-Id: a', 'X-Request-Id: b']);
      expect(head).not.toMatch(/\r\nX-Request-Id: [ab]\b(?!\w)\r\n/);
    });
  });

  describe('a body that must not be read', () => {
    const body = JSON.stringify({ addresses: [MINT] }).padEnd(40_000);
    const head = (value: string) =>
      [
        'POST /api/v1/score HTTP/1.1',
        'Host: a',
        ...(value === '' ? [] : [`x-api-key: ${value}`]),
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        '',
        '',
      ].join('\r\n');

    it.each([
      ['without a key', '', 401],
      ['with an unknown key', 'no such key', 401],
      ['of too low a plan', KEY, 403],
    ])('%s: the reply comes at once, and the connection stays open', async (_, value, status) => {
      const before = bodiesRead;
      const client = await RawClient.connect(service.server.port);
      client.send(head(value) + body.slice(0, 100));
      await client.until('"error"');
      expect(client.received.toString()).toContain(`HTTP/1.1 ${status} `);
      client.send(body.slice(100) + head(ENTERPRISE_KEY) + body);
      await client.until('"count":1');
      client.socket.destroy();
      expect(bodiesRead - before).toBe(1);
    });

    it('is not kept for the next turn if a turn has too many requests', async () => {
      const before = bodiesRead;
      const replies: number[] = [];
      const requestWith = (value: string) =>
        new MadeUp(exchanges, value, (status) => replies.push(status));
      for (let i = 0; i < 1000; i++) onRequest(requestWith('no such key'));
      onRequest(requestWith(ENTERPRISE_KEY));
      await eventually('a reply to all', () => replies.length === 1001);
      // The last one has no type.
      expect(replies).toEqual([...Array<number>(1000).fill(401), 415]);
      expect(bodiesRead - before).toBe(1);
    });

    it('also beyond the rate', async () => {
      const before = bodiesRead;
      const client = await RawClient.connect(service.server.port);
      client.send(head(ENTERPRISE_KEY) + body);
      const isRefused = () => client.received.toString().includes('HTTP/1.1 429 ');
      for (let asked = 1; !isRefused(); asked++) {
        await eventually(
          'a reply',
          () => client.received.toString().split('HTTP/1.1 ').length > asked,
        );
        if (!isRefused()) client.send(head(ENTERPRISE_KEY) + body);
      }
      const admitted = client.received.toString().split('HTTP/1.1 200 ').length - 1;
      expect(bodiesRead - before).toBe(admitted);
      client.socket.destroy();
    });
  });
});
