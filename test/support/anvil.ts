/** A chain of its own with Uniswap's published contracts: Foundry's anvil. */
import { spawn, spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import type { Parsed } from '../storage/import-helpers.js';
import { atEnd } from './folders.js';
import { eventually } from './waiting.js';

const require = createRequire(import.meta.url);
const CONTRACTS = {
  factory: '@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json',
  manager:
    '@uniswap/v3-periphery/artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json',
  router: '@uniswap/v3-periphery/artifacts/contracts/SwapRouter.sol/SwapRouter.json',
  erc20: '@uniswap/v2-core/build/ERC20.json',
  pairs: '@uniswap/v2-core/build/UniswapV2Factory.json',
} as const;

/** The binary of the package; null, with a message, where it or the contracts are not installed or do not run. */
function findAnvil(): string | null {
  try {
    const system = process.platform === 'win32' ? 'win32' : process.platform;
    const name = `@foundry-rs/anvil-${system}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
    const program = require.resolve(`${name}/bin/anvil${system === 'win32' ? '.exe' : ''}`);
    for (const contract of Object.values(CONTRACTS)) require.resolve(contract);
    if (spawnSync(program, ['--version']).status === 0) return program;
    console.warn('Tests with anvil are skipped: it does not run here');
  } catch {
    console.warn('Tests with anvil are skipped: it is not installed');
  }
  return null;
}

export const ANVIL = findAnvil();

/** A word of a call: a number, or an address. */
type Word = number | bigint | string;

const wordOf = (word: Word) => BigInt.asUintN(256, BigInt(word)).toString(16).padStart(64, '0');

export class Chain {
  private id = 0;
  private readonly selectors = new Map<string, string>();

  private constructor(
    readonly url: string,
    /** The account that pays for everything. */
    readonly account: string,
  ) {}

  static async start(...flags: string[]): Promise<Chain> {
    const child = spawn(ANVIL!, ['--port', '0', ...flags]);
    atEnd(() => child.kill('SIGKILL'));
    const url = await new Promise<string>((found, failed) => {
      child.once('exit', () => failed(new Error('anvil ended')));
      createInterface({ input: child.stdout }).on('line', (line) => {
        const match = /^Listening on (\S+)$/.exec(line);
        if (match !== null) found(`http://${match[1]}`);
      });
    });
    const [account] = await rpc(url, 1, 'eth_accounts', []);
    return new Chain(url, account);
  }

  request(method: string, ...params: unknown[]): Promise<Parsed> {
    return rpc(this.url, ++this.id, method, params);
  }

  /** The first four bytes of a function's hash, which the chain's own keccak makes. */
  async selector(signature: string): Promise<string> {
    const known = this.selectors.get(signature);
    if (known !== undefined) return known;
    const hash = await this.request('web3_sha3', `0x${Buffer.from(signature).toString('hex')}`);
    this.selectors.set(signature, hash.slice(2, 10));
    return hash.slice(2, 10);
  }

  /** @returns the contract's address */
  async deploy(contract: keyof typeof CONTRACTS, ...args: Word[]): Promise<string> {
    const { bytecode } = require(CONTRACTS[contract]);
    const code = `0x${String(bytecode).replace(/^0x/, '')}${args.map(wordOf).join('')}`;
    return (await this.sent({ data: code })).contractAddress;
  }

  /** @returns the logs of the transaction */
  async send(to: string, signature: string, ...args: Word[]): Promise<Parsed[]> {
    const data = `0x${await this.selector(signature)}${args.map(wordOf).join('')}`;
    return (await this.sent({ to, data })).logs;
  }

  /**
   * Puts a contract that returns these words from each function, whatever its arguments are, and reverts for others.
   * @returns its address
   */
  async put(answers: Readonly<Record<string, readonly Word[]>>): Promise<string> {
    const entries = await Promise.all(
      Object.entries(answers).map(async ([signature, words]) => ({
        selector: await this.selector(signature),
        data: words.map(wordOf).join(''),
      })),
    );
    // The selector is compared with each; then data from the code's end are returned.
    const [HEAD, CASE, REVERT, RETURN] = [6, 11, 5, 16];
    const hex = (value: number, bytes: number) => value.toString(16).padStart(2 * bytes, '0');
    const bodiesAt = HEAD + CASE * entries.length + REVERT;
    let dataAt = bodiesAt + RETURN * entries.length;
    let [cases, bodies, data] = ['', '', ''];
    entries.forEach((entry, i) => {
      const length = entry.data.length / 2;
      cases += `8063${entry.selector}1461${hex(bodiesAt + RETURN * i, 2)}57`;
      bodies += `5b61${hex(length, 2)}61${hex(dataAt, 2)}60003961${hex(length, 2)}6000f3`;
      data += entry.data;
      dataAt += length;
    });
    const code = `60003560e01c${cases}60006000fd${bodies}${data}`;
    const address = `0x${(++this.id).toString(16).padStart(40, 'f')}`;
    await this.request('anvil_setCode', address, `0x${code}`);
    return address;
  }

  /** @returns the words of the result */
  async call(to: string, signature: string, ...args: Word[]): Promise<bigint[]> {
    const data = `0x${await this.selector(signature)}${args.map(wordOf).join('')}`;
    const result: string = await this.request('eth_call', { to, data }, 'latest');
    return (result.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`));
  }

  private async sent(transaction: object): Promise<Parsed> {
    const from = this.account;
    const gas = '0x632ea0';
    const hash = await this.request('eth_sendTransaction', { from, gas, ...transaction });
    // It is mined a moment later.
    let receipt: Parsed = null;
    const isMined = async () =>
      (receipt = await this.request('eth_getTransactionReceipt', hash)) !== null;
    await eventually(() => 'a transaction to be mined', isMined, 5);
    if (receipt.status !== '0x1') throw new Error('the transaction failed');
    return receipt;
  }
}

async function rpc(url: string, id: number, method: string, params: unknown[]): Promise<Parsed> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
  });
  const { result, error } = (await response.json()) as Parsed;
  if (error !== undefined) throw new Error(`${method}: ${error.message}`);
  return result;
}

export const ADDRESS_ZERO = `0x${'0'.repeat(40)}`;
export const addressOf = (word: bigint) => `0x${word.toString(16).padStart(40, '0')}`;
const E18 = 10n ** 18n;
const DEADLINE = 2n ** 40n;

/** Uniswap v3 and v2 with two tokens, all of the account's. */
export class Uniswap {
  private constructor(
    readonly chain: Chain,
    readonly tokens: readonly [string, string],
    private readonly factory: string,
    private readonly manager: string,
    private readonly router: string,
  ) {}

  static async deploy(chain: Chain): Promise<Uniswap> {
    const factory = await chain.deploy('factory');
    const manager = await chain.deploy('manager', factory, ADDRESS_ZERO, ADDRESS_ZERO);
    const router = await chain.deploy('router', factory, ADDRESS_ZERO);
    const both = [await chain.deploy('erc20', 10n ** 36n), await chain.deploy('erc20', 10n ** 36n)];
    const [token0, token1] = both.sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1));
    for (const token of both) {
      for (const spender of [manager, router]) {
        await chain.send(token, 'approve(address,uint256)', spender, 2n ** 255n);
      }
    }
    return new Uniswap(chain, [token0, token1], factory, manager, router);
  }

  /** @param fee 500, 3000 or 10000: tick spacing 10, 60 or 200 */
  async createPool(fee: number, sqrtPriceX96: bigint): Promise<string> {
    const create = 'createAndInitializePoolIfNecessary(address,address,uint24,uint160)';
    await this.chain.send(this.manager, create, ...this.tokens, fee, sqrtPriceX96);
    const get = 'getPool(address,address,uint24)';
    return addressOf((await this.chain.call(this.factory, get, ...this.tokens, fee))[0]);
  }

  /** Opens a position with up to these whole tokens. @returns its liquidity */
  async mint(fee: number, low: number, high: number, amounts: [number, number]): Promise<bigint> {
    const [amount0, amount1] = amounts.map((amount) => BigInt(amount) * E18);
    const mint =
      'mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))';
    const position = [...this.tokens, fee, low, high, amount0, amount1, 0, 0];
    const { manager, chain } = this;
    const logs = await chain.send(manager, mint, ...position, chain.account, DEADLINE);
    const topic = await chain.selector('IncreaseLiquidity(uint256,uint128,uint256,uint256)');
    const log = logs.find(({ topics }) => topics[0].slice(2, 10) === topic);
    return BigInt(log.data.slice(0, 66));
  }

  /** Pays whole tokens of one side in. */
  async swap(fee: number, side: 0 | 1, amount: number): Promise<void> {
    const swap =
      'exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))';
    const [paid, got] = side === 0 ? this.tokens : [this.tokens[1], this.tokens[0]];
    const { chain } = this;
    const terms = [chain.account, DEADLINE, BigInt(amount) * E18, 0, 0];
    await chain.send(this.router, swap, paid, got, fee, ...terms);
  }

  /** A pair of v2 with whole tokens of both sides. */
  async createPair(amounts: [number, number]): Promise<string> {
    const { chain, tokens } = this;
    const factory = await chain.deploy('pairs', chain.account);
    await chain.send(factory, 'createPair(address,address)', ...tokens);
    const pair = addressOf((await chain.call(factory, 'getPair(address,address)', ...tokens))[0]);
    for (const side of [0, 1] as const) {
      const amount = BigInt(amounts[side]) * E18;
      await chain.send(tokens[side], 'transfer(address,uint256)', pair, amount);
    }
    await chain.send(pair, 'mint(address)', chain.account);
    return pair;
  }
}
