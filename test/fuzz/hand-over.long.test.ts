/** What commands and servers pass to each other, and what a server reads at its start, damaged in any way. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SERVE_FLAGS } from '../../server/cli/settings.js';
import { BUNDLE_VERSION, BundleWriter, STAGING } from '../../storage/bundle.js';
import { connectToServer, listenForCommands, SOCKET_FILE } from '../../storage/control.js';
import { UsageError } from '../../storage/errors.js';
import type { Store } from '../../storage/store.js';
import { temporaryDirectory } from '../support/folders.js';
import { packedRequest } from '../support/command-requests.js';
import { holdersFrame } from '../support/holders.js';
import { settingsOf } from '../support/settings.js';
import { bundleOf, commitRows, MINT, openStore, snapshot } from '../support/stores.js';
import { LIMIT_MS, mutatedBytes, mutatedJson, runs, strange } from './random.js';

const directory = temporaryDirectory();
const data = path.join(directory, 'data');
let store: Store;

beforeAll(async () => {
  // Failures in the background caused by a damaged bundle.
  store = await openStore(data, { onBackgroundError: () => undefined });
});
afterAll(async () => {
  await store.close();
});

it(
  'a bundle that is damaged is committed or refused, and the store continues',
  { timeout: LIMIT_MS },
  async () => {
    const holders = new Map([[60, new Map([['owner', 2.5]])]]);
    const frames = [
      holdersFrame(MINT, holders),
      {
        kind: 'delete',
        chain: 'mainchain',
        address: MINT,
        fromS: 1,
        toS: 60,
        markets: null,
        tier: null,
        needsAny: false,
      } as const,
    ];
    const whole = await bundleOf(store, [snapshot(60), snapshot(120)], { behind: frames });
    const place = path.join(data, STAGING, whole.name);
    const bytes = readFileSync(place);
    await commitRows(store, [snapshot(30)]);
    await store.commit(whole.name);
    let t = 1000;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(mutatedBytes(bytes), async (damaged) => {
        writeFileSync(place, damaged);
        await store.commit(whole.name).catch(() => refused++);
        await commitRows(store, [snapshot(30), snapshot((t += 60))]);
      }),
      runs(20),
    );
    expect(refused).toBeGreaterThan(0);
    await whole.discard();
  },
);

it('the command socket survives whatever is written to it', { timeout: LIMIT_MS }, async () => {
  const errors: unknown[] = [];
  const control = await listenForCommands(data, store, (error) => errors.push(error));
  const bundle = await BundleWriter.create(data);
  await bundle.write({ kind: 'header', version: BUNDLE_VERSION, file: 'x', mode: 'replace' });
  await bundle.finish();
  const key = { chain: 'mainchain', address: MINT, tier: 'raw', t: 60 };
  const requests = [
    { operation: 'summary', args: [] },
    { operation: 'snapshotPrices', args: [[key, key]] },
    { operation: 'snapshotTimes', args: [key] },
    { operation: 'commit', args: [bundle.name] },
    { operation: 'rehearse', args: [bundle.name] },
    { operation: 'revokeKey', args: ['key_0123456789abcdef'] },
    { operation: 'listQueue', args: [] },
    // What commands may not request.
    { operation: 'close', args: [] },
    { operation: 'constructor', args: [] },
  ];
  const request = fc.constantFrom(...requests);
  const message = fc.oneof(
    request.chain(mutatedJson).map(packedRequest),
    request.map(packedRequest).chain(mutatedBytes),
    strange.map(packedRequest),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 3 }), async (messages) => {
      await new Promise((resolve) => {
        const socket = createConnection(path.join(data, SOCKET_FILE));
        socket.on('error', () => undefined);
        socket.resume().on('close', resolve);
        socket.end(Buffer.concat(messages));
      });
      const remote = await connectToServer(data);
      expect((await remote?.summary())?.tokens).toBeGreaterThan(0);
      remote?.close();
    }),
    runs(30),
  );
  expect(errors.length).toBeGreaterThan(0);
  // Nothing is said to what is no command, nor is a body awaited that would be too long.
  const long = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${2 ** 27}\r\n\r\n`;
  for (const text of ['GET / HTTP/1.1\r\nHost: a\r\n\r\n', long, '\xff'.repeat(64)]) {
    const socket = createConnection(path.join(data, SOCKET_FILE)).resume();
    socket.write(text, 'latin1');
    await once(socket, 'close');
    expect(socket.bytesRead).toBe(0);
  }
  await bundle.discard();
  await control.close();
});

describe('the config file', () => {
  const file = path.join(directory, 'config.json');
  const plan = {
    monthly_quota: 1000,
    depth: 'delayed',
    rates: { general: { requests: 30, seconds: 60 } },
  };
  const good: Record<string, unknown> = {
    data,
    host: '127.0.0.1',
    port: 0,
    'stale-after': '1h',
    'lenient-parameters': true,
    'cors-origin': ['https://app.example.com'],
    'as-of': '2026-11-14',
    threads: 1,
    plans: { premium: plan },
  };

  /** Whether a server accepts the text; anything but a refusal in words fails. */
  function takes(text: string | Uint8Array): boolean {
    const before = process.env.FATHOM_CONFIG;
    writeFileSync(file, text);
    process.env.FATHOM_CONFIG = file;
    try {
      settingsOf([]);
      return true;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      return false;
    } finally {
      if (before === undefined) delete process.env.FATHOM_CONFIG;
      else process.env.FATHOM_CONFIG = before;
    }
  }

  it('is accepted or refused in words', { timeout: LIMIT_MS }, () => {
    const text = JSON.stringify(good);
    expect(takes(text)).toBe(true);
    const any = fc.dictionary(fc.constantFrom(...Object.keys(SERVE_FLAGS), 'plans'), strange);
    const texts = fc.oneof(
      mutatedBytes(Buffer.from(text)),
      fc.oneof(mutatedJson(good), any).map((document) => JSON.stringify(document)),
    );
    fc.assert(
      fc.property(texts, (content) => void takes(content)),
      runs(150),
    );
  });
});
