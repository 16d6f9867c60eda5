/** Objects of the archive: the same contract in a folder and in a bucket, and what an operator is told when it fails. */
import { mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ArchiveUnavailableError, ObjectFaultError } from '../../storage/archive/objects.js';
import {
  type ArchivePlace,
  openObjects,
  readArchiveUrl,
} from '../../storage/archive/open-objects.js';
import { describeObjects, KEY, sha256Of } from './objects-contract.js';
import { temporaryDirectory } from '../support/folders.js';
import { S3_KEY, S3Server } from '../support/s3-server.js';

let folder = '';
let server: S3Server;
beforeEach(async () => {
  folder = temporaryDirectory();
  server = await S3Server.start();
  useCredentials(S3_KEY);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

function useCredentials({ accessKeyId, secretAccessKey }: typeof S3_KEY): void {
  vi.stubEnv('AWS_ACCESS_KEY_ID', accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secretAccessKey);
}

const inFolder = (): ArchivePlace => ({
  url: pathToFileURL(folder).href,
  endpoint: null,
  region: null,
  credentialsFile: null,
});
const inBucket = (more: Partial<ArchivePlace> = {}): ArchivePlace => ({
  url: server.url,
  endpoint: server.endpoint,
  region: 'eu-test-1',
  credentialsFile: null,
  ...more,
});

describeObjects('a folder', () => openObjects(inFolder()));
describeObjects('a bucket', () => {
  server.listedAtOnce = 2;
  return openObjects(inBucket());
});

describe('A folder', () => {
  it('that is not mounted gets no object, and has lost none', async () => {
    const objects = await openObjects(inFolder());
    await objects.put(KEY, Uint8Array.of(1), sha256Of(Uint8Array.of(1)));
    rmSync(folder, { recursive: true });
    await expect(objects.put(KEY, Uint8Array.of(1), '')).rejects.toThrow(ArchiveUnavailableError);
    const reading = objects.read(KEY, 0, 1).catch((error: unknown) => error);
    expect(await reading).toBeInstanceOf(ArchiveUnavailableError);
    expect(await reading).not.toBeInstanceOf(ObjectFaultError);
    mkdirSync(folder);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('whose object was cut says so', async () => {
    const objects = await openObjects(inFolder());
    await objects.put(KEY, new Uint8Array(100), '');
    truncateSync(path.join(folder, KEY), 50);
    await expect(objects.read(KEY, 40, 20)).rejects.toThrow('has fewer bytes than it had');
  });
});

describe('A bucket', () => {
  it.each([
    [{ status: 503, code: 'SlowDown' }],
    [{ status: 500, code: 'InternalError' }],
    ['cut' as const],
  ])('that fails twice with %o is asked again', async (fault) => {
    const objects = await openObjects(inBucket());
    const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i % 251);
    await objects.put(KEY, bytes, sha256Of(bytes));
    let left = 2;
    server.fault = () => (left-- > 0 ? fault : null);
    expect(Buffer.compare(await objects.read(KEY, 0, 1000), bytes)).toBe(0);
    expect(server.requests.filter((one) => one.startsWith('GET'))).toHaveLength(3);
  });

  it.each([
    ['SlowDown', 503, 'the server asks for fewer requests', 3],
    ['AccessDenied', 403, 'give its key the right', 1],
    ['NoSuchBucket', 404, 'make the bucket, or name another one', 1],
    ['PermanentRedirect', 301, 'give the region of the bucket', 1],
  ])('that answers %s says what to do', async (code, status, advice, requests) => {
    const objects = await openObjects(inBucket());
    server.fault = () => ({ status, code });
    const bytes = Uint8Array.of(1);
    await expect(objects.put(KEY, bytes, sha256Of(bytes))).rejects.toThrow(advice);
    expect(server.requests).toHaveLength(requests);
  });

  it('does not take another key, another secret, or a clock far off', async () => {
    const bytes = Uint8Array.of(1);
    const put = async () => (await openObjects(inBucket())).put(KEY, bytes, sha256Of(bytes));
    await put();
    useCredentials({ ...S3_KEY, accessKeyId: 'OTHER' });
    await expect(put()).rejects.toThrow('the server does not know this access key');
    useCredentials({ ...S3_KEY, secretAccessKey: 'other' });
    await expect(put()).rejects.toThrow('the secret does not belong to the access key');
    useCredentials(S3_KEY);
    server.nowMs = () => Date.now() + 3_600_000;
    await expect(put()).rejects.toThrow("this machine's clock differs from the server's");
    vi.stubEnv('AWS_ACCESS_KEY_ID', '');
    await expect(put()).rejects.toThrow('the environment lacks AWS_ACCESS_KEY_ID');
  });

  it('takes credentials that were renewed in their file', async () => {
    const file = path.join(folder, 'credentials');
    const write = (token: string): void =>
      writeFileSync(
        file,
        `# of a role\n[other]\naws_access_key_id = no\n[default]\naws_access_key_id=${S3_KEY.accessKeyId}\n` +
          `aws_secret_access_key = ${S3_KEY.secretAccessKey}\r\naws_session_token=${token}\n`,
      );
    write('first');
    server.sessionToken = 'second';
    const objects = await openObjects(inBucket({ credentialsFile: file }));
    const bytes = Uint8Array.of(1);
    server.fault = () => {
      // It is renewed between two attempts.
      if (server.requests.length === 2) write('second');
      return null;
    };
    await objects.put(KEY, bytes, sha256Of(bytes));
    expect(server.requests).toHaveLength(3);
    vi.stubEnv('AWS_PROFILE', 'none');
    await expect(objects.read(KEY, 0, 1)).rejects.toThrow(`${file} [none] lacks aws_access_key_id`);
  });

  it('that cannot be reached says why', async () => {
    const objects = await openObjects(inBucket());
    await server.close();
    await expect(objects.read(KEY, 0, 1)).rejects.toThrow('ECONNREFUSED');
    server = await S3Server.start();
  });
});

describe('The URL of an archive', () => {
  it.each(['s3://bucket', 's3://bucket/a/b', 'file:///mnt/history'])('may be %s', (text) => {
    expect(readArchiveUrl(text, '--archive-url').href).toBe(text);
  });

  it.each([
    'bucket',
    's3://',
    'file://host/x',
    'file:///',
    'file:///mnt/100%',
    'https://host/b',
    's3://b/c?x=1',
    's3://:secret@bucket/c',
  ])('may not be %s', (text) => {
    expect(() => readArchiveUrl(text, '--archive-url')).toThrow(
      '--archive-url: expected s3://bucket/prefix or file:///folder',
    );
  });

  it('keeps a password out of the message', () => {
    for (const secret of ['secret', 'a/b']) {
      expect(() => readArchiveUrl(`s3://me:${secret}@bucket`, '--archive-url')).toThrow(
        's3://***@bucket',
      );
    }
  });
});
