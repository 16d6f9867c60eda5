/** A server whose clock is far ahead of its data deletes nothing until an operator allows it. */
import path from 'node:path';
import { expect, it } from 'vitest';
import { fathom, type Service, serveHere, withStoreOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { commitRows, orca, snapshot } from '../support/stores.js';
import { becomes } from '../support/waiting.js';

const T = 1_794_600_000;
const data = path.join(temporaryDirectory(), 'data');

const startedIn2036 = (): Promise<Service> =>
  serveHere(data, ['--as-of', '2036-01-26T22:40:00Z'], { FATHOM_RETENTION: '{"raw":"30d"}' });

/** Tokens that have raw snapshots. */
async function rawTokens(): Promise<number> {
  const found = await withStoreOf(data, (store) =>
    store.tokensBefore({ raw: T + 3600, '15m': 0, '1h': 0 }),
  );
  return found.length;
}

async function waits(server: Service): Promise<string | undefined> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return /^fathom_retention_waits (.*)$/m.exec(text)?.[1];
}

it('says so in its log and its metrics, with the command that allows deletion', async () => {
  await withStoreOf(data, (store) => commitRows(store, [snapshot(T), snapshot(T + 60, [orca()])]));
  const first = await startedIn2036();
  await becomes(() => waits(first), '1');
  const [, why, command] =
    /"level":"warn",[^\n]*"why":"([^"]*)","to_allow_it":"fathom ([^"]*)","msg":"retention waits"/.exec(
      first.logged(),
    ) ?? [];
  expect(why).toContain('the clock says 2036-01-26T22:40:00Z, and the newest snapshot is of 2026');
  const allowed = await fathom(command.split(' '));
  expect(allowed).toMatchObject({
    status: 0,
    stderr: 'retention may delete everything due at 2036-01-26T22:40:00Z\n',
  });
  await first.stop();
  const json = ['retention', '--allow', '2036-01-26T22:40:00Z', '--data', data, '--json'];
  expect((await fathom(json)).stdout).toBe('{"allowed_to":2085000000}\n');
  expect(await rawTokens()).toBe(1);
  const second = await startedIn2036();
  await becomes(() => Promise.resolve(second.logged().includes('"msg":"retention deleted"')), true);
  expect(await waits(second)).toBe('0');
  expect(second.logged()).not.toContain('retention waits');
  await second.stop();
  expect(await rawTokens()).toBe(0);
});
