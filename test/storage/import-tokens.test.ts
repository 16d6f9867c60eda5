import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  fixture,
  hasShared,
  importAll,
  Scratch,
  shared,
  type Parsed,
  SOL,
  TOKEN,
  type TokensRow,
} from './import-helpers.js';

const scratch = new Scratch();

/** Checks token rows (docs/definitions.md#datasets). @returns the linked pairs `mint contract` */
function linksOf(rows: TokensRow[]): string[] {
  const legs = new Map<string, TokensRow[]>();
  const addresses = new Set(rows.map((row) => row.address));
  expect(addresses.size).toBe(rows.length);
  for (const row of rows) {
    const isEvm = /^0x[0-9a-f]{40}$/.test(row.address);
    expect(row.chain).toBe(isEvm ? 'evmchain' : 'mainchain');
    if (row.asset !== null) legs.set(row.asset, [...(legs.get(row.asset) ?? []), row]);
  }
  return [...legs.values()].map((pair) => {
    expect(pair.map((row) => row.chain).sort()).toEqual(['evmchain', 'mainchain']);
    const [mint, contract] = pair.sort((a, b) => (a.chain > b.chain ? -1 : 1));
    return `${mint.address} ${contract.address}`;
  });
}

describe('solana-token-list', () => {
  const excerpt = fixture('solana_tokenlist_excerpt.json');

  it('gives mints, and contracts of bridged originals as legs', async () => {
    const { rows, report } = await importAll<TokensRow>('solana-token-list', [excerpt]);
    const by = (symbol: string) => rows.filter((row) => row.symbol === symbol);
    expect(rows[0]).toMatchObject({ chain: 'mainchain', address: SOL, decimals: 9, asset: null });
    expect(by('SOLUP').length).toBe(1);
    expect(by('swtUST-9').length).toBe(1);
    expect(by('wFTT_v1').map((row) => [row.chain, row.decimals])).toEqual([
      ['mainchain', 9],
      ['evmchain', null],
    ]);
    // Two mints of one contract: the first gets it.
    const usdt = '0xdac17f958d2ee523a2206206994597c13d831ec7';
    expect(linksOf(rows).filter((link) => link.endsWith(usdt)).length).toBe(1);
    const linked = rows.find((row) => row.address === usdt)!;
    const [first, second] = rows.filter((row) => /^(wUSDT_v1|USDTet)$/.test(row.symbol));
    expect(linked.asset).toBe(first.asset);
    expect(second.chain === 'evmchain' ? null : second.asset).toBeNull();
    expect(report.leftOut.first.map((entry) => entry.reason)).toEqual([
      `${usdt} has another leg on mainchain already: not linked`,
    ]);
  });

  it('leaves out other networks and refuses a damaged list', async () => {
    const token = { chainId: 101, address: SOL, symbol: 'SOL', name: 'Sol', decimals: 9 };
    const run = (tokens: unknown) =>
      importAll('solana-token-list', [scratch.file('list.json', JSON.stringify({ tokens }))]);
    const { rows, report } = await run([{ ...token, chainId: 103 }, token]);
    expect([rows.length, report.leftOut.count]).toEqual([1, 1]);
    await expect(run(7)).rejects.toThrow('list.json: tokens: expected a list');
    await expect(run([token, null])).rejects.toThrow('list.json: tokens[1]: expected an object');
    await expect(run([{ ...token, address: '0x1' }])).rejects.toThrow(
      'list.json:tokens[0]: address: expected a base58 mint',
    );
    await expect(run([{ ...token, decimals: -1 }])).rejects.toThrow(
      'decimals: expected an integer',
    );
    const cut = scratch.file('cut.json', readFileSync(excerpt).subarray(0, 900));
    await expect(importAll('solana-token-list', [cut])).rejects.toThrow('expected a JSON document');
  });

  it.runIf(hasShared)('links the 174 entries of the real list that name a contract', async () => {
    const file = shared('tokens/solana.tokenlist.trimmed.json.gz');
    const { rows, report } = await importAll<TokensRow>('solana-token-list', [file]);
    const text = gunzipSync(readFileSync(file)).toString();
    const named = (JSON.parse(text).tokens as Parsed[]).flatMap((token) => {
      const { address = '', assetContract = '' } = token.extensions ?? {};
      const contract = /0x[0-9a-f]{40}/i.exec(`${address} ${assetContract}`);
      return contract === null ? [] : [`${token.address} ${contract[0].toLowerCase()}`];
    });
    expect(named.length).toBe(174);
    const links = linksOf(rows);
    const contracts = new Set(named.map((link) => link.split(' ')[1]));
    expect(rows.length).toBe(2000 + contracts.size);
    expect(links.length).toBe(contracts.size);
    for (const link of links) expect(named).toContain(link);
    expect(report.leftOut.count).toBe(174 - contracts.size);
  });
});

describe('wormhole-csv', () => {
  const bySource = fixture('wormhole_by_source_excerpt.csv');
  const byDest = fixture('wormhole_by_dest_excerpt.csv');

  it('reads both layouts, each address once', async () => {
    const source = await importAll<TokensRow>('wormhole-csv', [bySource]);
    const by = (symbol: string) => source.rows.filter((row) => row.symbol === symbol);
    expect(by('BONK').map(({ chain, decimals }) => [chain, decimals])).toEqual([
      ['mainchain', 5],
      ['evmchain', 5],
    ]);
    expect(by('PYTH').map(({ chain, asset }) => [chain, asset])).toEqual([['mainchain', null]]);
    expect(by('TBTC').length).toBe(2);
    expect(by('KING')[0]).toMatchObject({ icon: expect.stringContaining('/crop/x_77,y_0,') });
    expect(source.report.leftOut.first.map((entry) => entry.what)).toEqual(['MGP']);
    const dest = await importAll<TokensRow>('wormhole-csv', [byDest]);
    const links = linksOf(dest.rows);
    expect(links.length).toBeGreaterThan(3);
    const both = await importAll<TokensRow>('wormhole-csv', [byDest, bySource]);
    expect(linksOf(both.rows)).toEqual(expect.arrayContaining(links));
    expect(new Set(both.rows.map((row) => row.address)).size).toBe(both.rows.length);
  });

  it('links a mint that came alone before, but never gives it a second contract', async () => {
    const head = 'dest,symbol,name,address,decimals,origin,sourceAddress,sourceDecimals,logo\n';
    const contracts = ['a', 'b'].map((digit) => `0x${digit.repeat(40)}`);
    const file = scratch.file(
      'dest.csv',
      `${head}bsc,X,X,0x1,8.0,sol,${SOL},9.0,\neth,X,X,${contracts[0].toUpperCase()},,sol,${SOL},9.0,\n` +
        `eth,X,X,${contracts[1]},8.0,sol,${SOL},9.0,\neth,X,X,${contracts[0]},8.0,sol,${SOL},9.0,\n`,
    );
    const { rows, report } = await importAll<TokensRow>('wormhole-csv', [file]);
    expect(linksOf(rows)).toEqual([`${SOL} ${contracts[0]}`]);
    expect(rows.map((row) => [row.address, row.decimals, row.asset === null])).toEqual([
      [SOL, 9, false],
      [contracts[0], 8, false],
      [contracts[1], 8, true],
    ]);
    expect(report.leftOut.first).toEqual([
      {
        where: `${file}:4`,
        what: contracts[1],
        reason: `${SOL} has another leg on evmchain already: not linked`,
      },
    ]);
  });

  it('refuses other columns, addresses and decimals, and every flag', async () => {
    const head =
      'source,symbol,name,sourceAddress,sourceDecimals,logo,solAddress,solDecimals,ethAddress,ethDecimals\n';
    const run = (row: string, header = head) =>
      importAll('wormhole-csv', [scratch.file('w.csv', `${header}${row}\n`)]);
    await expect(run(`sol,X,X,${SOL},9.5,,,,,`)).rejects.toThrow(
      "w.csv:2: sourceDecimals: expected a whole number, found '9.5'",
    );
    await expect(run('sol,X,X,0xabc,9.0,,,,,')).rejects.toThrow(
      "w.csv:2: sourceAddress: expected an address of 'sol'",
    );
    await expect(run(`eth,X,X,${SOL},9.0,,,,,`)).rejects.toThrow(
      'sourceAddress: expected an address',
    );
    await expect(run('a,b', 'x,y\n')).rejects.toThrow(
      "w.csv:1: this is not a Wormhole list: expected a column source or dest, found 'x,y'",
    );
    await expect(importAll('wormhole-csv', [bySource], TOKEN)).rejects.toThrow('--token: ');
  });

  it.runIf(hasShared)('links every row of the real lists with a mint and a contract', async () => {
    const file = shared('tokens/wormhole_2024_by_source.csv');
    const { rows } = await importAll<TokensRow>('wormhole-csv', [file]);
    const links = linksOf(rows);
    // Only logos are quoted, and only they have commas within fields.
    const lines = readFileSync(file, 'utf8')
      .replaceAll(/"[^"]*"/g, '')
      .trim()
      .split('\n');
    const cut = lines.slice(1).map((line) => line.split(','));
    const rowLinks = cut.map(([source, , , address, , , , sol, , eth]) => [
      source === 'sol' ? address : sol,
      (source === 'eth' ? address : eth).toLowerCase(),
      source,
    ]);
    const linked = rowLinks.filter(([mint, contract]) => mint !== '' && contract !== '');
    expect(linked.filter(([, , source]) => source === 'sol' || source === 'eth').length).toBe(102);
    expect(links.sort()).toEqual(
      [...new Set(linked.map(([mint, contract]) => `${mint} ${contract}`))].sort(),
    );
    const dest = shared('tokens/wormhole_2024_by_dest.csv');
    const other = await importAll<TokensRow>('wormhole-csv', [dest]);
    expect(linksOf(other.rows).length).toBe(101);
    for (const link of linksOf(other.rows)) expect(links).toContain(link);
  });
});
