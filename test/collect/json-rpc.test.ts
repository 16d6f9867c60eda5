import { describe, expect, it } from 'vitest';
import { JsonRpc, MAX_BATCH_CALLS, RpcError } from '../../collect/chains/json-rpc.js';
import { type Answer, RpcNode } from '../support/rpc-node.js';

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

async function open() {
  const node = await RpcNode.start();
  node.answer = ({ params }) => ({ result: params[0] });
  return { node, rpc: new JsonRpc(node.url) };
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

  it('is not waited for once the reading has ended', async () => {
    const { node, rpc } = await open();
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

describe('a node that will not answer', () => {
  it('is not asked again', async () => {
    const { node, rpc } = await open();
    node.intercept = (_asked, response) => {
      response.writeHead(401).end('no such key');
      return true;
    };
    for (const count of [1, 2]) {
      const error = await failureOf(rpc.send(calls(count), never));
      expect([error.failure, error.message]).toEqual(['refused', `${rpc.host}: HTTP 401`]);
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
  expect(error.message).toBe(`${rpc.host}: HTTP 401`);
  expect(seen).toEqual([`Basic ${Buffer.from('me:SE CRET').toString('base64')}`]);
});
