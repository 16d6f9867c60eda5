import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  JsonRpc,
  MAX_BATCH_CALLS,
  MAX_IN_FLIGHT,
  RpcError,
} from '../../collect/chains/json-rpc.js';
import { type Answer, RpcNode } from '../support/rpc-node.js';
import { eventually, letPass } from '../support/waiting.js';

afterEach(() => {
  vi.restoreAllMocks();
});

const never = new AbortController().signal;
const calls = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ method: 'echo', params: [i] }));
const failureOf = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(RpcError);
  return error as RpcError;
};

/** A node that answers a call's parameter, and a reader that does not wait between its tries. */
async function open() {
  const node = await RpcNode.start();
  node.answer = ({ params }) => ({ result: params[0] });
  const waits: number[] = [];
  const wait = (ms: number) => Promise.resolve(void waits.push(ms));
  return { node, rpc: new JsonRpc(node.url, wait), waits };
}

describe('calls', () => {
  it('are sent by the hundred, and their results stand in their order', async () => {
    const { node, rpc } = await open();
    node.intercept = (asked, response) => {
      const replies = asked.map(({ id, params }) => ({ jsonrpc: '2.0', id, result: params[0] }));
      response.end(JSON.stringify(replies.reverse()));
      return true;
    };
    const results = await rpc.send(calls(250), never);
    expect(results).toEqual(Array.from({ length: 250 }, (_, i) => i));
    expect(node.requests.map((request) => request.length)).toEqual([100, 100, 50]);
  });

  it.each([
    ['with 413', 413, ''],
    ['with 400', 400, '<html>'],
    [
      'with an error',
      200,
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large"}}',
    ],
  ])('are sent in smaller requests where a node refuses many %s', async (_how, status, text) => {
    const { node, rpc } = await open();
    node.intercept = (asked, response) => {
      if (asked.length <= 10) return false;
      response.writeHead(status).end(text);
      return true;
    };
    expect(await rpc.send(calls(30), never)).toEqual(Array.from({ length: 30 }, (_, i) => i));
    expect(node.requests.map((request) => request.length)).toEqual([30, 15, 8, 8, 8, 6]);
    expect(MAX_BATCH_CALLS).toBe(100);
  });

  it('that a node refuses have their own errors, beside the results of the others', async () => {
    const { node, rpc } = await open();
    node.answer = ({ params }): Answer =>
      params[0] === 1
        ? { error: { code: 3, message: 'execution reverted' } }
        : { result: params[0] };
    const results = await rpc.send(calls(3), never);
    expect([results[0], results[2]]).toEqual([0, 2]);
    expect(results[1]).toMatchObject({
      failure: 'refused',
      message: expect.stringContaining('reverted'),
    });
  });
});

describe('the calls of a request', () => {
  /** A node that refuses more than `node.most` calls at once. */
  async function openBounded(most: number) {
    const { node, rpc } = await open();
    const limit = { most };
    node.intercept = (asked, response) => {
      if (asked.length <= limit.most) return false;
      response.writeHead(413).end();
      return true;
    };
    const sizes = async (count: number) => {
      const before = node.requests.length;
      expect(await rpc.send(calls(count), never)).toEqual(
        Array.from({ length: count }, (_, i) => i),
      );
      return node.requests.slice(before).map((request) => request.length);
    };
    return { limit, sizes };
  }

  it('become many again once a node takes them, by trying twice as many now and then', async () => {
    const { limit, sizes } = await openBounded(30);
    expect((await sizes(100)).slice(0, 3)).toEqual([100, 50, 25]);
    limit.most = 100;
    const after = await sizes(3_000);
    expect(after.slice(0, 28).every((size) => size === 25)).toBe(true);
    expect([after.includes(50), after.at(-2)]).toEqual([true, 100]);
    // Few calls together say nothing about many.
    expect(await sizes(100)).toEqual([100]);
  });

  it('stay few where a node always refuses more: its refusals get ever rarer', async () => {
    const { sizes } = await openBounded(30);
    const refused = (asked: number[]) => asked.filter((size) => size > 30).length;
    const [first, second] = [refused(await sizes(4_000)), refused(await sizes(4_000))];
    // Of 160 requests each: two at first, then after 32, 64 and 128 full ones.
    expect(first).toBeLessThanOrEqual(4);
    expect(second).toBeLessThanOrEqual(1);
  });

  it('are repeated alone where only some are answered', async () => {
    const { node, rpc } = await open();
    let refusals = 0;
    node.answer = ({ params }): Answer =>
      params[0] % 10 === 0 && refusals++ < 3
        ? { error: { code: 429, message: 'compute units per second exceeded' } }
        : { result: params[0] };
    expect(await rpc.send(calls(30), never)).toEqual(Array.from({ length: 30 }, (_, i) => i));
    expect(node.requests.map((request) => request.map(({ params }) => params[0]))[1]).toEqual([
      0, 10, 20,
    ]);
    expect(node.requests.length).toBe(2);
  });

  it('are repeated alone where a reply lacks them', async () => {
    const { node, rpc } = await open();
    node.intercept = (asked, response) => {
      if (node.requests.length > 1) return false;
      const replies = asked.slice(0, 3).map(({ id }) => ({ jsonrpc: '2.0', id, result: 'here' }));
      response.end(JSON.stringify(replies));
      return true;
    };
    expect(await rpc.send(calls(5), never)).toEqual(['here', 'here', 'here', 3, 4]);
    expect(node.requests.map((request) => request.length)).toEqual([5, 2]);
  });

  it('have an error each where a node answers the others, and never them', async () => {
    const { node, rpc } = await open();
    node.answer = ({ params }): Answer =>
      params[0] === 1
        ? { error: { code: -32000, message: 'execution timeout' } }
        : { result: params[0] };
    const [first, second, third] = await rpc.send(calls(3), never);
    expect([first, third]).toEqual([0, 2]);
    expect(second).toMatchObject({ failure: 'busy', message: `${rpc.host}: execution timeout` });
    expect(node.requests.map((request) => request.length)).toEqual([3, 1, 1, 1, 1]);
  });

  it('may be too many for the reply to be bounded', async () => {
    const { node, rpc } = await open();
    const large = 'x'.repeat(20 * 2 ** 20);
    node.answer = ({ params }) => ({ result: params[0] < 2 ? large : params[0] });
    const results = await rpc.send(calls(3), never);
    expect(results.map((result) => (result as string).length ?? result)).toEqual([
      large.length,
      large.length,
      2,
    ]);
    expect(node.requests.map((request) => request.length)).toEqual([3, 2, 1, 1, 1]);
  });

  it.each([
    [3, 'execution reverted: try again, header not found'],
    [-32000, 'execution reverted: rate limit exceeded'],
    [-32015, 'VM execution error: reverted, missing trie node'],
  ])(
    "fail for themselves by a contract's words, whatever these are: %i %s",
    async (code, message) => {
      const { node, rpc } = await open();
      node.answer = () => ({ error: { code, message } });
      const [result] = await rpc.send(calls(1), never);
      expect(result).toMatchObject({ failure: 'refused', message: `${rpc.host}: ${message}` });
      expect(node.requests.length).toBe(1);
    },
  );
});

describe('a node that asks for a long silence', () => {
  it.each([
    ['in seconds', () => '300'],
    ['by a date', () => new Date(Date.now() + 300_000).toUTCString()],
  ])('is left alone for so long: %s', async (_how, headerOf) => {
    const { node, rpc } = await open();
    node.intercept = (_asked, response) => {
      if (node.requests.length > 1) return false;
      response.writeHead(429, { 'retry-after': headerOf() }).end();
      return true;
    };
    expect((await failureOf(rpc.call('echo', [5], never))).message).toBe(`${rpc.host}: HTTP 429`);
    const next = await failureOf(rpc.call('echo', [5], never));
    expect(next.failure).toBe('busy');
    expect(next.message).toMatch(/: asks not to be asked for another (29\d|300) s$/);
    expect(node.requests.length).toBe(1);
    letPass(301_000);
    expect(await rpc.call('echo', [5], never)).toBe(5);
    expect(node.requests.length).toBe(2);
  });
});

describe('a node that cannot answer now', () => {
  it.each([
    ['429', 429, '', { 'retry-after': '0' }],
    ['503', 503, 'Service Unavailable', { 'retry-after': '0' }],
    ['garbage', 200, '<html>welcome</html>', {}],
    ['a reply without the call', 200, '[]', {}],
    ['half a reply', 200, '{"jsonrpc":"2.0","id":1,"resu', {}],
    ['another id', 200, '{"jsonrpc":"2.0","id":77,"result":0}', {}],
    [
      'a limit',
      200,
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"daily request count exceeded"}}',
      {},
    ],
  ])('is asked again after %s', async (_what, status, text, headers) => {
    const { node, rpc } = await open();
    node.intercept = (_asked, response) => {
      if (node.requests.length > 1) return false;
      response.writeHead(status, headers).end(text);
      return true;
    };
    expect(await rpc.call('echo', [5], never)).toBe(5);
    expect(node.requests.length).toBe(2);
  });

  it('is asked again after a cut connection', async () => {
    const { node, rpc } = await open();
    node.intercept = (_asked, response) => {
      if (node.requests.length > 1) return false;
      response.destroy();
      return true;
    };
    expect(await rpc.call('echo', [5], never)).toBe(5);
  });

  it('is given up after four tries, by the name of its host alone', async () => {
    const { node, rpc } = await open();
    node.intercept = (_asked, response) => {
      response.writeHead(502, { 'retry-after': '0' }).end();
      return true;
    };
    const error = await failureOf(rpc.call('echo', [5], never));
    expect([error.failure, error.message]).toEqual(['busy', `${rpc.host}: HTTP 502`]);
    expect(node.requests.length).toBe(4);
    expect(error.message).not.toContain('secret-key');
  });

  it('is waited for longer and longer, or as long as it asks for', async () => {
    const { node, rpc, waits } = await open();
    let asked = {};
    node.intercept = (_asked, response) => {
      response.writeHead(503, asked).end();
      return true;
    };
    await failureOf(rpc.call('echo', [5], never));
    expect(waits.length).toBe(3);
    waits.forEach((ms, i) => {
      expect(ms / 2 ** i).toBeGreaterThanOrEqual(125);
      expect(ms / 2 ** i).toBeLessThanOrEqual(375);
    });
    asked = { 'retry-after': '2' };
    await failureOf(rpc.call('echo', [5], never));
    expect(waits.slice(3)).toEqual([2_000, 2_000, 2_000]);
  });

  it('is not waited for once the reading has ended', async () => {
    const { node } = await open();
    const rpc = new JsonRpc(node.url);
    const stop = new AbortController();
    node.intercept = () => {
      stop.abort(new Error('over'));
      return true;
    };
    await expect(rpc.call('echo', [5], stop.signal)).rejects.toThrow('over');
    // The wait before another try ends too.
    const another = new AbortController();
    node.intercept = (_asked, response) => {
      response.writeHead(429, { 'retry-after': '4' }).end();
      response.once('close', () => another.abort(new Error('over, too')));
      return true;
    };
    await expect(rpc.call('echo', [5], another.signal)).rejects.toThrow('over, too');
    expect(node.requests.length).toBe(2);
  });
});

describe('a node that several read', () => {
  it('has at most four requests to answer at once', async () => {
    const { node, rpc } = await open();
    const held: (() => void)[] = [];
    let most = 0;
    node.intercept = ([{ id, params }], response) => {
      held.push(() => response.end(JSON.stringify({ jsonrpc: '2.0', id, result: params[0] })));
      most = Math.max(most, held.length);
      return true;
    };
    const asking = Array.from({ length: 8 }, (_, i) => rpc.call('echo', [i], never));
    const stop = new AbortController();
    const late = rpc.call('echo', [8], stop.signal).catch((error: Error) => error.message);
    await eventually('four requests', () => held.length === MAX_IN_FLIGHT);
    // One whose reading ends before its turn is not made.
    stop.abort(new Error('over'));
    for (let i = 0; i < 8; i++) {
      await eventually('another request', () => held.length > 0);
      held.shift()!();
    }
    expect(await Promise.all(asking)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(await late).toBe('over');
    expect([most, node.requests.length]).toEqual([MAX_IN_FLIGHT, 8]);
  });
});

describe('messages', () => {
  it.each([
    ['https://other.example/v3/0123456789abcdef: no access', 'its URL no access'],
    ['project secret-key has no access', 'project *** has no access'],
    [
      'the key "k e y!" of /v2/secret-key?apikey=k%20e%20y%21 is wrong',
      'the key "***" of /v2/***?apikey=*** is wrong',
    ],
    [`${'x'.repeat(190)} secret-key`, `${'x'.repeat(190)} ***`],
  ])('have nothing secret of a URL, whatever the node says: %s', async (said, expected) => {
    const { node } = await open();
    const rpc = new JsonRpc(`${node.url}?apikey=k%20e%20y%21`);
    node.answer = () => ({ error: { code: -32600, message: said } });
    for (const count of [1, 2]) {
      const [error] = await rpc.send(calls(count), never);
      const { message } = error as RpcError;
      expect(message).not.toContain('secret-key');
      expect(message).not.toMatch(/k%20e|0123456789/);
      expect(message).toBe(`${rpc.host}: ${expected}`);
    }
  });

  it.each([
    [401, 'HTTP 401: it wants another key, or user, in rpc'],
    [403, 'HTTP 403: it wants another key, or user, in rpc'],
    [404, 'HTTP 404: there is no JSON-RPC at the path of rpc'],
    [405, 'HTTP 405: there is no JSON-RPC at the path of rpc'],
  ])('say what to do: %i', async (status, expected) => {
    const { node, rpc } = await open();
    node.intercept = (_asked, response) => {
      response.writeHead(status).end('<html>');
      return true;
    };
    expect((await failureOf(rpc.call('echo', [5], never))).message).toBe(
      `${rpc.host}: ${expected}`,
    );
  });

  it('say that a method is unknown because the chain is another', async () => {
    const { node, rpc } = await open();
    node.answer = () => ({ error: { code: -32601, message: 'Method not found' } });
    expect((await failureOf(rpc.call('echo', [5], never))).message).toBe(
      `${rpc.host}: Method not found: is rpc a node of the pool's chain?`,
    );
  });
});

describe('a node that will not answer', () => {
  it('is not asked again', async () => {
    const { node, rpc } = await open();
    node.intercept = (_asked, response) => {
      response.writeHead(401).end('no such key');
      return true;
    };
    for (const count of [1, 2]) {
      const error = await failureOf(rpc.send(calls(count), never));
      expect([error.failure, error.message]).toEqual([
        'refused',
        `${rpc.host}: HTTP 401: it wants another key, or user, in rpc`,
      ]);
    }
    expect(node.requests.length).toBe(2);
  });

  it('may not send without end', async () => {
    const { node, rpc } = await open();
    node.intercept = (_asked, response) => {
      const chunk = Buffer.alloc(2 ** 20, ' ');
      const more = () => response.write(chunk, (error) => error ?? setImmediate(more));
      more();
      return true;
    };
    const error = await failureOf(rpc.call('echo', [5], never));
    expect(error.message).toBe(`${rpc.host}: its reply has more than 33554432 bytes`);
    expect(node.requests.length).toBe(1);
  });
});

it.each([
  [-32000, 'header not found'],
  [-32001, 'Resource not found'],
  [-32000, 'Unknown block'],
  [-32602, 'block not found: 0x10'],
  [-39001, 'missing block'],
  [-32016, 'Minimum context slot has not been reached'],
  [-32005, 'Node is behind by 42 slots'],
])('a node that is behind says %i %s', async (code, message) => {
  const { node, rpc } = await open();
  node.answer = () => ({ error: { code, message } });
  for (const count of [1, 3]) {
    expect((await failureOf(rpc.send(calls(count), never))).failure).toBe('behind');
  }
  expect(node.requests.length).toBe(2);
});

it.each([
  [-32000, 'missing trie node 0f3a (path )'],
  [-32000, 'required historical state unavailable (reexec=128)'],
  [4444, 'pruned history unavailable'],
  [-32000, 'state at block #100 is not available'],
  [-32603, 'distance to target block exceeds maximum proof window'],
])('a node that no longer has the state says %i %s', async (code, message) => {
  const { node, rpc } = await open();
  node.answer = () => ({ error: { code, message } });
  expect((await failureOf(rpc.send(calls(2), never))).failure).toBe('pruned');
  expect(node.requests.length).toBe(1);
});

it('a user and a password are sent as authorization, and no message has them', async () => {
  const { node } = await open();
  const seen: (string | undefined)[] = [];
  node.intercept = (_asked, response) => {
    seen.push(response.req.headers.authorization);
    response.writeHead(401).end();
    return true;
  };
  const rpc = new JsonRpc(node.url.replace('//', '//me:SE%20CRET@'));
  const error = await failureOf(rpc.call('echo', [5], never));
  expect(error.message).toBe(`${rpc.host}: HTTP 401: it wants another key, or user, in rpc`);
  expect(seen).toEqual([`Basic ${Buffer.from('me:SE CRET').toString('base64')}`]);
});
