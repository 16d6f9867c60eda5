/**
 * Solscan's exports of a token's holders as rows of `holders`, one per owner. Used columns: `Account` (owner),
 * `Token Account` (or `Token Acct`) and `Quantity`; in older exports `owner`, `address` and `amount`.
 */
import path from 'node:path';
import { chainOfAddress } from '../../compute/market.js';
import type { TokenName } from '../contract.js';
import { readCsv } from '../csv.js';
import { InputError } from '../errors.js';
import { parseDecimal } from './fields.js';
import type { ImportReport } from './formats.js';
import { excerpt } from './refusals.js';

const LAYOUTS = [
  { owner: 'Account', account: 'Token Account', quantity: 'Quantity' },
  { owner: 'Account', account: 'Token Acct', quantity: 'Quantity' },
  { owner: 'owner', account: 'address', quantity: 'amount' },
] as const;

const THOUSANDS = /^\d{1,3}(,\d{3})+(\.\d*)?$/;
/** Solscan's names for such files, which contain the mint. */
const EXPORT_NAME = /^export_token_holders_([1-9A-HJ-NP-Za-km-z]{32,44})_/;

/** Token accounts of one import; a snapshot has at most as many owners. */
const MAX_TOKEN_ACCOUNTS = 1_000_000;

/**
 * The files are parts of one export. The balance of an owner is the sum over the owner's token accounts.
 * @param t epoch seconds of the export
 * @throws InputError (`file:line: column: what`)
 */
export async function* importSolscanHolders(
  files: readonly string[],
  token: TokenName,
  t: number,
  report: ImportReport,
): AsyncGenerator<object, void, undefined> {
  const balances = new Map<string, number>();
  const accounts = new Set<string>();
  for (const file of files) {
    const mint = EXPORT_NAME.exec(path.basename(file))?.[1];
    if (mint !== undefined && mint !== token.address) {
      throw new InputError(
        `${file}: the name says that the token is ${mint}, not ${token.address}`,
      );
    }
    for await (const { header, line, fields } of readCsv(file)) {
      const where = `${file}:${line}`;
      const { owner, account, balance } = rowOf(where, header, fields);
      report.messages++;
      if (owner === '') {
        report.leftOut.add({ where, what: account, reason: 'a token account without an owner' });
        continue;
      }
      if (accounts.has(account)) {
        throw new InputError(`${where}: ${account} comes twice: expected parts of one export`);
      }
      accounts.add(account);
      if (accounts.size > MAX_TOKEN_ACCOUNTS) {
        throw new InputError(`${where}: more than ${MAX_TOKEN_ACCOUNTS} token accounts`);
      }
      balances.set(owner, (balances.get(owner) ?? 0) + balance);
    }
  }
  for (const [owner, balance] of balances)
    yield { token_address: token.address, t, owner, balance };
}

/** Names the command that loads a file with a row for each owner. */
function holdersHint(columns: readonly string[]): string {
  return columns.includes('owner') && columns.includes('balance')
    ? '; owners and balances are rows of holders: use fathom ingest holders --set token_address=MINT --set t=TIME'
    : '';
}

function rowOf(where: string, header: readonly string[], fields: readonly string[]) {
  const names = header.map((name) => name.trim());
  const layout = LAYOUTS.find((columns) => Object.values(columns).every((c) => names.includes(c)));
  if (layout === undefined) {
    throw new InputError(
      `${where}: expected an export of Solscan with the columns Account,Token Account,Quantity or ` +
        `address,owner,amount, found '${excerpt(header.join(','))}'${holdersHint(names)}`,
    );
  }
  const text = (column: string): string => fields[names.indexOf(column)].trim();
  const address = (column: string, found: string): string => {
    if (chainOfAddress(found) === 'mainchain') return found;
    throw new InputError(
      `${where}: ${column}: expected a base58 address, found '${excerpt(found)}'`,
    );
  };
  const quantity = text(layout.quantity);
  const balance = parseDecimal(THOUSANDS.test(quantity) ? quantity.replaceAll(',', '') : quantity);
  if (Number.isNaN(balance)) {
    throw new InputError(
      `${where}: ${layout.quantity}: expected a number such as 1234.5 or 1,234.5, found '${excerpt(quantity)}'`,
    );
  }
  const [owner, account] = [text(layout.owner), text(layout.account)];
  return {
    // Exports name no owner of some accounts, such as closed ones.
    owner: owner === '' ? owner : address(layout.owner, owner),
    account: address(layout.account, account),
    balance,
  };
}
