/** Solscan's exports of holders. */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { fixture, importAll, Scratch, SOL, TOKEN } from './import-helpers.js';

const scratch = new Scratch();

interface HolderRow {
  token_address: string;
  t: number;
  owner: string;
  balance: number;
}

const T = 1_700_000_000;
const FLAGS = { ...TOKEN, at: String(T) };
const [A, B] = ['A', 'B'].map((letter) => letter.repeat(44));
const [ACCOUNT_1, ACCOUNT_2, ACCOUNT_3] = ['1', '2', '3'].map((digit) => digit.repeat(44));
const HEADER = 'Account,Token Account,Quantity,Percentage';

const run = (content: string | Uint8Array, name = 'holders.csv') =>
  importAll<HolderRow>('solscan-holders', [scratch.file(name, content)], FLAGS);
const balancesOf = ({ rows }: { rows: HolderRow[] }) =>
  Object.fromEntries(rows.map(({ owner, balance }) => [owner, balance]));

describe('solscan-holders', () => {
  it('sums the token accounts of an owner', async () => {
    const rows = [`${A},${ACCOUNT_1},10.5,60`, `${B},${ACCOUNT_2},7,39`, `${A},${ACCOUNT_3},2,1`];
    const found = await run([HEADER, ...rows].join('\n'));
    expect(found.rows).toEqual([
      { token_address: SOL, t: T, owner: A, balance: 12.5 },
      { token_address: SOL, t: T, owner: B, balance: 7 },
    ]);
    expect(found.report.messages).toBe(3);
  });

  it('takes thousands separators, a BOM, CRLF, gzip, more columns and one’s older name', async () => {
    const header = 'Account,Token Acct,Rank,Quantity';
    const rows = [`${A},${ACCOUNT_1},1,"1,234,567.25"`, `${B},${ACCOUNT_2},2,1234567.25`];
    const text = `\uFEFF${[header, ...rows].join('\r\n')}\r\n`;
    expect(balancesOf(await run(text))).toEqual({ [A]: 1_234_567.25, [B]: 1_234_567.25 });
    expect(balancesOf(await run(gzipSync(text)))).toEqual(balancesOf(await run(text)));
  });

  it('reads a real export of the older layout', async () => {
    const file = fixture('solscan_holders_excerpt.csv');
    const { rows } = await importAll<HolderRow>('solscan-holders', [file], FLAGS);
    expect(rows.length).toBe(readFileSync(file, 'utf8').trim().split('\n').length - 1);
    expect(rows[0]).toEqual({
      token_address: SOL,
      t: T,
      owner: 'DgLcG7dhE8VBoA4rJu1resczXkYTSGUx7Ry1HicqcqZr',
      balance: 2_636_537.97,
    });
    expect(rows.at(-1)!.balance).toBe(0);
  });

  it('joins the parts of an export, and refuses a repeated part', async () => {
    const parts = [`${A},${ACCOUNT_1},1`, `${B},${ACCOUNT_2},2`].map((row, i) =>
      scratch.file(`part-${i}.csv`, `${HEADER}\n${row},0\n`),
    );
    const read = (files: string[]) => importAll<HolderRow>('solscan-holders', files, FLAGS);
    expect(balancesOf(await read(parts))).toEqual({ [A]: 1, [B]: 2 });
    await expect(read([parts[0], parts[0]])).rejects.toThrow(
      `part-0.csv:2: ${ACCOUNT_1} comes twice: expected parts of one export`,
    );
  });

  it('leaves out and reports token accounts without an owner', async () => {
    const rows = [`${A},${ACCOUNT_1},10.5,60`, `,${ACCOUNT_2},7,39`];
    const { rows: found, report } = await run([HEADER, ...rows].join('\n'));
    expect(found).toEqual([{ token_address: SOL, t: T, owner: A, balance: 10.5 }]);
    expect(report.messages).toBe(2);
    expect(report.leftOut.first).toEqual([
      {
        where: expect.stringMatching(/holders\.csv:3$/),
        what: ACCOUNT_2,
        reason: 'a token account without an owner',
      },
    ]);
    expect((await run(`${HEADER}\n,${ACCOUNT_1},1,1\n`)).nothing).toBe(
      'nothing to import: all 1 holders were left out',
    );
  });

  it('says what is wrong with a file', async () => {
    const row = (quantity: string, owner = A) => `${HEADER}\n${owner},${ACCOUNT_1},${quantity},1\n`;
    await expect(run('')).rejects.toThrow('holders.csv:1: expected a header, found nothing');
    await expect(run('a,b\n1,2\n')).rejects.toThrow(
      "holders.csv:2: expected an export of Solscan with the columns Account,Token Account,Quantity or address,owner,amount, found 'a,b'",
    );
    await expect(run(`owner,balance\n${A},1\n`)).rejects.toThrow(
      "found 'owner,balance'; owners and balances are rows of holders: use fathom ingest holders --set token_address=MINT --set t=TIME",
    );
    await expect(run(row('"1,23"'))).rejects.toThrow(
      "holders.csv:2: Quantity: expected a number such as 1234.5 or 1,234.5, found '1,23'",
    );
    await expect(run(row('-1'))).rejects.toThrow('Quantity: expected a number');
    await expect(run(row('1', '0xabc'))).rejects.toThrow(
      "holders.csv:2: Account: expected a base58 address, found '0xabc'",
    );
    expect((await run(HEADER)).nothing).toBe('nothing to import: no holders in the files');
    const other = `export_token_holders_${A}_1756549860283.csv`;
    await expect(run(row('1'), other)).rejects.toThrow(
      `the name says that the token is ${A}, not ${SOL}`,
    );
  });
});
