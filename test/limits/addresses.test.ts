import { describe, expect, it } from 'vitest';
import { networkOf, withAddressLimit } from '../../server/limits/addresses.js';
import type { Exchange } from '../../server/http/exchange.js';
import { RawClient } from '../support/raw-client.js';
import { heldService } from '../support/service.js';
import { eventually } from '../support/waiting.js';
import { ENGINES } from '../support/engines.js';

it.each([
  ['203.0.113.9', '203.0.113.9'],
  [' 203.0.113.9:4711 ', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['0000:0000:0000:0000:0000:ffff:cb00:7109', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['unknown', null],
  ['999.0.0.1', null],
  ['', null],
])('The client of an address %s is %s', (text, network) => {
  expect(networkOf(text)).toBe(network);
});

describe('A limit by client address', () => {
  /** The replies to requests from these addresses; `nowMs` moves the clock. */
  function limited({ proxyHops = 0, maxAddresses = 10 } = {}) {
    let nowMs = 0;
    const handle = withAddressLimit(() => got.push('handled'), {
      requestsPerS: 2,
      proxyHops,
      maxAddresses,
      clock: { steadyUs: () => nowMs * 1000, wallMs: () => 0 },
    });
    let got: unknown[] = [];
    const ask = (address: string, forwardedFor = '') => {
      got = [];
      const replyError = ({ status, body, headers }: { [name: string]: unknown }) =>
        got.push({ status, body, headers });
      handle({ origin: { address, forwardedFor }, replyError } as unknown as Exchange);
      return got[0];
    };
    return { ask, wait: (ms: number) => (nowMs += ms) };
  }
  const refused = {
    status: 429,
    body: { error: 'Too many requests from this address: retry in 1 second' },
    headers: [['Retry-After', '1']],
  };

  it('refuses requests beyond the rate, only of this address, until it has refilled', () => {
    const { ask, wait } = limited();
    const answers = () => [ask('192.0.2.1'), ask('192.0.2.1'), ask('192.0.2.1')];
    expect(answers()).toEqual(['handled', 'handled', refused]);
    expect(ask('192.0.2.2')).toBe('handled');
    wait(499);
    expect(ask('192.0.2.1')).toEqual(refused);
    wait(1);
    expect([ask('192.0.2.1'), ask('192.0.2.1')]).toEqual(['handled', refused]);
  });

  it('trusts only the last entries of X-Forwarded-For, made by trusted proxies', () => {
    const { ask } = limited({ proxyHops: 1 });
    // The client may send the header itself; the proxy appends to it.
    for (let i = 0; i < 2; i++)
      expect(ask('10.0.0.1', `198.51.100.${i}, 192.0.2.1`)).toBe('handled');
    expect(ask('10.0.0.1', '198.51.100.7, 192.0.2.1')).toEqual(refused);
    expect(ask('10.0.0.1', '192.0.2.2')).toBe('handled');
    // Without an address there, the connection's address counts.
    for (const text of ['', 'unknown']) expect(ask('10.0.0.1', text)).toBe('handled');
    expect(ask('10.0.0.1', 'x')).toEqual(refused);
    const two = limited({ proxyHops: 2 });
    for (let i = 0; i < 2; i++) expect(two.ask('10.0.0.1', '192.0.2.1, 10.0.0.2')).toBe('handled');
    expect(two.ask('10.0.0.1', '198.51.100.1, 192.0.2.1, 10.0.0.2')).toEqual(refused);
    const none = limited();
    for (let i = 0; i < 2; i++) expect(none.ask('10.0.0.1', `192.0.2.${i}`)).toBe('handled');
    expect(none.ask('10.0.0.1', '192.0.2.9')).toEqual(refused);
  });

  it('remembers a bounded number of addresses', () => {
    const { ask } = limited({ maxAddresses: 2 });
    for (let i = 0; i < 3; i++) ask('192.0.2.1');
    expect(ask('192.0.2.1')).toEqual(refused);
    ask('192.0.2.2');
    ask('192.0.2.3');
    expect(ask('192.0.2.1')).toBe('handled');
  });
});

describe.each(ENGINES)('The limit by client address over %s', async (engine) => {
  const addressLimit = { requestsPerS: 1, proxyHops: 1 };
  const service = await heldService({ addressLimit, engine });

  it('comes before the key check: guesses are refused unchecked', async () => {
    const guess = async (client?: string) => {
      const headers = { 'x-api-key': 'a guess', ...(client && { 'x-forwarded-for': client }) };
      const reply = await service.get('/top-scores', { headers });
      return [reply.status, reply.headers.get('retry-after')];
    };
    for (const clients of [[undefined], ['192.0.2.1'], ['2001:db8::1', '2001:db8::2']]) {
      const answers = Array.from({ length: 20 }, (_, i) => guess(clients[i % clients.length]));
      const replies = await Promise.all(answers);
      expect(replies).toContainEqual([401, null]);
      expect(replies).toContainEqual([429, '1']);
      for (const [status] of replies) expect([401, 429]).toContain(status);
    }
  });

  it('does not apply to paths outside the API', async () => {
    const load = async () => (await fetch(`${service.server.url}/docs`)).status;
    expect(await Promise.all(Array.from({ length: 20 }, load))).toEqual(Array(20).fill(200));
  });

  it('trusts the last line of X-Forwarded-For if proxies append one, also in a postponed request', async () => {
    const client = await RawClient.connect(service.server.port);
    const ask = (i: number) =>
      `GET /api/v1/top-scores HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 198.51.100.${i % 250}\r\nX-Forwarded-For: 203.0.113.5\r\n\r\n`;
    client.send(Array.from({ length: 20 }, (_, i) => ask(i)).join(''));
    const replies = await client.until('"Too many requests');
    expect(replies.split('HTTP/1.1 401 ').length).toBeLessThanOrEqual(3);
    client.socket.destroy();
    // One more than a turn of the event loop answers.
    const many = await RawClient.connect(service.server.port);
    many.send(Array.from({ length: 501 }, (_, i) => ask(i)).join(''));
    if (engine === 'node') await many.closed;
    else
      await eventually(
        'all replies',
        () => many.received.toString().split('HTTP/1.1 ').length === 502,
      );
    many.socket.destroy();
  });
});
