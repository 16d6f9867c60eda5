/** The archive on S3 servers of others: the contract of objects, an operator's messages, and a walk. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ArchivePlace, openObjects } from '../../storage/archive/open-objects.js';
import { type ForeignS3, motoServer, namedServer } from '../support/foreign-s3.js';
import { describeObjects, KEY, sha256Of } from './objects-contract.js';
import { walkOver } from './walk.js';

const WALKS = Number(process.env.FATHOM_RUNS ?? 2);

const SERVERS = { 'a server of your own': await namedServer(), moto: await motoServer() };

for (const [name, found] of Object.entries(SERVERS)) {
  const server = found as ForeignS3;
  const placeOf = (more: Partial<ArchivePlace> = {}): ArchivePlace => ({
    // A prefix of its own: a server that is kept has the objects of earlier runs.
    url: `s3://${server.bucket}/${randomUUID()}`,
    endpoint: server.endpoint,
    region: 'us-east-1',
    credentialsFile: null,
    ...more,
  });

  describe.skipIf(found === null)(`An archive on ${name}`, () => {
    beforeEach(() => {
      vi.stubEnv('AWS_ACCESS_KEY_ID', server.accessKeyId);
      vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.secretAccessKey);
    });
    afterEach(() => void vi.unstubAllEnvs());

    describeObjects('its bucket', () => openObjects(placeOf()));

    it('says that a bucket is missing', async () => {
      const objects = await openObjects(placeOf({ url: `s3://none-${randomUUID()}/x` }));
      const bytes = Uint8Array.of(1);
      await expect(objects.put(KEY, bytes, sha256Of(bytes))).rejects.toThrow('make the bucket');
    });

    it('lists more objects than one reply has', async () => {
      const objects = await openObjects(placeOf());
      const bytes = Uint8Array.of(1);
      const keys = Array.from({ length: 1010 }, (_, i) => `segments/${String(i).padStart(5, '0')}`);
      for (let at = 0; at < keys.length; at += 20) {
        const some = keys.slice(at, at + 20);
        await Promise.all(some.map((key) => objects.put(key, bytes, sha256Of(bytes))));
      }
      const first = await objects.list('segments/', null);
      const second = await objects.list('segments/', first.at(-1)!.key);
      expect([...first, ...second].map(({ key }) => key)).toEqual(keys);
      expect(await objects.list('segments/', keys.at(-1)!)).toEqual([]);
    });

    it('holds what a plain map does', () => walkOver(WALKS, placeOf));
  });
}
