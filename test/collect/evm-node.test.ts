import { describe, expect, it } from 'vitest';
import { type BlockCalls, EvmNode } from '../../collect/chains/evm-node.js';
import { JsonRpc } from '../../collect/chains/json-rpc.js';
import { type Answer, type Asked, RpcNode } from '../support/rpc-node.js';

const never = new AbortController().signal;
const TO = `0x${'ab'.repeat(20)}`;
const word = (value: number) => value.toString(16).padStart(64, '0');

/** A node whose calls answer the block's number; `has` says which blocks a request finds. */
async function open(newest: number, has: (block: number, asked: Asked) => boolean) {
  const node = await RpcNode.start();
  const hashes = new Map<number, string>();
  node.answer = (asked): Answer => {
    const { method, params } = asked;
    const block =
      params[0] === 'latest' ? newest : Number(method === 'eth_call' ? params[1] : params[0]);
    if (method === 'eth_call') {
      return has(block, asked)
        ? { result: `0x${word(block)}` }
        : { error: { code: -32000, message: 'header not found' } };
    }
    if (!has(block, asked)) return { result: null };
    const hash = hashes.get(block) ?? `0x${word(block)}`;
    return { result: { number: `0x${block.toString(16)}`, hash, timestamp: '0x65' } };
  };
  return { node, hashes, evm: new EvmNode(new JsonRpc(node.url)) };
}

const twice = async (calls: BlockCalls) => {
  const first = await calls.words(TO, 'slot0', 1);
  const [a, b] = await Promise.all([1, -1].map((tick) => calls.words(TO, 'ticks', 1, tick)));
  return [first, a, b].map(([value]) => Number(`0x${value}`));
};

describe('a reading', () => {
  it('has all calls at the newest block, those made together in one request', async () => {
    const { node, evm } = await open(100, () => true);
    expect(await evm.atNewestBlock(twice, never)).toEqual({
      block: 100,
      timeS: 101,
      value: [100, 100, 100],
    });
    expect(node.requests.map((calls) => calls.map(({ method }) => method))).toEqual([
      ['eth_getBlockByNumber'],
      ['eth_call'],
      ['eth_call', 'eth_call'],
      ['eth_getBlockByNumber'],
    ]);
    expect(node.requests[2].map(({ params }) => params[0].data)).toEqual([
      `0xf30dba93${word(1)}`,
      `0xf30dba93${'f'.repeat(64)}`,
    ]);
  });

  it('goes on with the results of a request while the next one is answered', async () => {
    const { node, evm } = await open(100, () => true);
    let seeFirst = (): void => undefined;
    const firstIsHere = new Promise<void>((resolve) => (seeFirst = resolve));
    let isFirst = true;
    node.intercept = (asked, response) => {
      if (asked[0].method !== 'eth_call') return false;
      if (isFirst) return (isFirst = false);
      const replies = asked.map(({ id }) => ({ jsonrpc: '2.0', id, result: `0x${word(7)}` }));
      void firstIsHere.then(() => response.end(JSON.stringify(replies)));
      return true;
    };
    const reading = await evm.atNewestBlock(async (calls) => {
      const all = Array.from({ length: 150 }, (_, i) => calls.words(TO, 'ticks', 1, i));
      void all[0].then(() => seeFirst());
      // Asked for meanwhile, and sent once the requests before it are answered.
      const later = all[0].then(() => calls.words(TO, 'slot0', 1));
      return [...(await Promise.all(all)), await later].map(([value]) => Number(`0x${value}`));
    }, never);
    expect(reading.value).toEqual([...Array(100).fill(100), ...Array(51).fill(7)]);
    expect(node.requests.map((asked) => asked.length)).toEqual([1, 100, 50, 1, 1]);
  });

  it('begins anew one block lower where a node behind the balancer does not have it yet', async () => {
    let calls = 0;
    const late = (block: number, { method }: Asked) =>
      block < 100 || method !== 'eth_call' || ++calls < 2;
    const { evm } = await open(100, late);
    expect(await evm.atNewestBlock(twice, never)).toMatchObject({ block: 99, value: [99, 99, 99] });
  });

  it('goes three blocks back and no further', async () => {
    const first = await open(100, (block, { method }) => block <= 97 || method !== 'eth_call');
    expect(await first.evm.atNewestBlock(twice, never)).toMatchObject({ block: 97 });
    const second = await open(100, (block, { method }) => block <= 96 || method !== 'eth_call');
    await expect(second.evm.atNewestBlock(twice, never)).rejects.toThrow('header not found');
    const lost = await open(100, (block, { params }) => block <= 96 || params[0] === 'latest');
    await expect(lost.evm.atNewestBlock(twice, never)).rejects.toThrow(/header not found|no block/);
  });

  it('of a block that was replaced meanwhile begins anew', async () => {
    let replaced = false;
    const { evm, hashes } = await open(100, (_block, { method }) => {
      if (method === 'eth_call' && !replaced) hashes.set(100, '0xother');
      replaced ||= method === 'eth_call';
      return true;
    });
    expect(await evm.atNewestBlock(twice, never)).toMatchObject({ block: 99, value: [99, 99, 99] });
  });

  it('of a block whose state the node no longer has begins anew at the newest', async () => {
    const { node, evm } = await open(100, () => true);
    const { answer } = node;
    let newest = 100;
    node.answer = (asked) => {
      const { method, params } = asked;
      if (method !== 'eth_call') {
        return answer(
          params[0] === 'latest' ? { ...asked, params: [`0x${newest.toString(16)}`] } : asked,
        );
      }
      if (Number(params[1]) > 300) return answer(asked);
      newest += 129;
      return { error: { code: -32000, message: 'missing trie node 0f3a (path 02)' } };
    };
    expect(await evm.atNewestBlock(twice, never)).toMatchObject({ block: 358 });
    node.answer = (asked) =>
      asked.method === 'eth_call'
        ? { error: { code: -32000, message: 'missing trie node 0f3a (path 02)' } }
        : answer(asked);
    const before = node.requests.length;
    await expect(evm.atNewestBlock(twice, never)).rejects.toThrow(
      'it does not keep the state of block 100 while that is read',
    );
    expect(node.requests.length - before).toBe(6);
  });

  it('stops at other failures', async () => {
    const { node, evm } = await open(100, () => true);
    node.answer = ({ method }) =>
      method === 'eth_call'
        ? { result: 'not hex' }
        : { result: { number: '0x64', hash: '0x1', timestamp: '0x65' } };
    await expect(evm.atNewestBlock(twice, never)).rejects.toThrow(
      'the result of a call is not hex',
    );
    node.answer = () => ({ result: { number: 100 } });
    await expect(evm.atNewestBlock(twice, never)).rejects.toThrow('no number, time or hash');
    expect(node.requests.length).toBe(3);
  });
});
