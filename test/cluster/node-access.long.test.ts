/** Nodes and the NATS servers that authenticate them: certificates, passwords, keys and credentials. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasNats, NatsServers } from '../../bench/nats.js';
import { findProgram } from '../../bench/programs.js';
import type { LogMessage } from '../../storage/log/log-reader.js';
import type { NatsAccess } from '../../storage/log/connection.js';
import { JetStreamLog } from '../../storage/log/jetstream.js';
import { nkey, operatorMode } from '../support/nats-accounts.js';
import { becomes, eventually, PATIENCE_MS } from '../support/waiting.js';
import { temporaryDirectory } from '../support/folders.js';

describe.skipIf(!hasNats || findProgram('openssl') === null)(
  'Servers that authenticate nodes',
  () => {
    let folder = '';
    beforeAll(() => {
      folder = temporaryDirectory();
      openssl('-x509', '-subj', '/CN=ca', ...filesOf('ca'));
    });
    const openssl = (...words: string[]) =>
      execFileSync('openssl', ['req', '-newkey', 'rsa:2048', '-nodes', '-days', '1', ...words], {
        stdio: 'ignore',
        cwd: folder,
      });
    const filesOf = (name: string) => ['-keyout', `${name}.key`, '-out', `${name}.pem`];
    const fileOf = (name: string, text?: string): string => {
      const file = path.join(folder, name);
      if (text !== undefined) writeFileSync(file, text);
      return file;
    };
    const opened: { close: () => Promise<void> }[] = [];
    afterAll(async () => {
      for (const one of opened.reverse()) await one.close();
    });

    const serve = async (config: string): Promise<string[]> => {
      const servers = await NatsServers.start(1, config);
      opened.push(servers);
      return servers.urls;
    };
    const reach = (access: NatsAccess): JetStreamLog => {
      const log = new JetStreamLog({ ...access, name: 'test', replicas: 1 });
      opened.push(log);
      return log;
    };
    const makes = async (access: NatsAccess): Promise<void> => {
      expect(await reach(access).state(true)).toMatchObject({ last: 0 });
    };
    const until = async (log: JetStreamLog, reason: RegExp): Promise<void> => {
      await eventually(
        () => `${log.reason} matches ${reason}`,
        () => reason.test(log.reason),
      );
    };

    it('accept the certificate and the password that the sample in docs/deploy requires', async () => {
      const signed = ['-x509', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-subj', '/CN=fathom'];
      const name = ['-addext', 'subjectAltName=IP:127.0.0.1'];
      openssl(...signed, ...name, ...filesOf('server'));
      openssl(...signed, ...filesOf('node'));
      const sample = readFileSync('docs/deploy/nats-server.conf', 'utf8');
      const [url] = await serve(
        sample
          .replace(/^(listen|server_name): .*$/gm, '')
          .replace(/^cluster \{[^]*$/m, '')
          .replace(/^ *store_dir: .*$/m, '')
          .replaceAll('/etc/nats', folder)
          .replace('"$2a$..."', '"s:e cret"'),
      );
      const servers = [url.replace('nats:', 'tls:')];
      const own = { ca: fileOf('ca.pem'), cert: fileOf('node.pem'), key: fileOf('node.key') };
      const credentials = fileOf('password', 'fathom:wrong');
      const log = reach({ servers, credentials, ...own });
      await until(log, /Authorization Violation/);
      await expect(log.publish('keys', new Uint8Array(1), 'x')).rejects.toThrow(
        /^JetStream is unreachable: nothing was stored.*\(.*Authorization Violation.*\)$/,
      );
      // The password is corrected while the node runs.
      fileOf('password', 'fathom:s:e cret\n');
      await log.connected(PATIENCE_MS);
      expect(await log.state(true)).toMatchObject({ last: 0 });
      await until(reach({ servers, credentials }), /certificate/);
      await until(reach({ servers: [url], credentials }), /certificate/);
    });

    it('are named as the reason when they reject a node that was connected', async () => {
      const servers = await NatsServers.start(
        1,
        'authorization { user: "fathom", password: "right" }',
      );
      opened.push(servers);
      const credentials = fileOf('renewed', 'fathom:right');
      const log = reach({ servers: servers.urls, credentials });
      await log.state(true);
      fileOf('renewed', 'fathom:wrong');
      await servers.kill(0);
      servers.start(0);
      await until(log, /Authorization Violation/);
      fileOf('renewed', 'fathom:right');
      await until(log, /^$/);
    });

    it('are each verified by the host name in --cluster', async () => {
      const certificate = (name: string, alternative: string): string => {
        const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${alternative}`];
        openssl('-x509', '-CA', 'ca.pem', '-CAkey', 'ca.key', ...names, ...filesOf(name));
        const [cert_file, key_file] = [fileOf(`${name}.pem`), fileOf(`${name}.key`)];
        return `tls: ${JSON.stringify({ cert_file, key_file })}`;
      };
      const [byAddress] = await serve(certificate('address', 'IP:127.0.0.1'));
      const [byName] = await serve(certificate('named', 'DNS:localhost'));
      const urls = (url: string) =>
        ['127.0.0.1', 'localhost'].map((host) => `tls://${host}:${new URL(url).port}`);
      const [right, wrongName] = urls(byAddress);
      const [wrongAddress, rightName] = urls(byName);
      const ca = fileOf('ca.pem');
      await makes({ servers: [right], ca });
      await makes({ servers: [rightName], ca });
      // Each server has a certificate for the other host name.
      await until(reach({ servers: [wrongName, wrongAddress], ca }), /does not match certificate/);
    });

    it('accept an NKEY seed, a token, and a .creds file', async () => {
      const user = nkey('user');
      const [, named] = /publish and subscribe to (.+)\.$/m.exec(
        readFileSync('docs/cluster.md', 'utf8'),
      ) as RegExpExecArray;
      const subjects = JSON.stringify(Array.from(named.matchAll(/`([^`]+)`/g), ([, one]) => one));
      const permissions = `{ publish: ${subjects}, subscribe: ${subjects} }`;
      const byNkey = await serve(
        `authorization { users = [{ nkey: ${user.publicKey}, permissions: ${permissions} }] }`,
      );
      const log = reach({ servers: byNkey, credentials: fileOf('seed', `${user.seed}\n`) });
      await log.state(true);
      const data = new Uint8Array([7]);
      await log.publish('data.many', data, 'one');
      const { value } = await log.follow(1, AbortSignal.timeout(PATIENCE_MS)).next();
      expect((value as LogMessage[]).map((entry) => [...entry.data])).toEqual([[7]]);
      const parts = await log.sendBundle(fileOf('large', 'bundle'), 6);
      await log.publish('large', data, 'large', { parts });
      const { value: large } = await log.follow(2, AbortSignal.timeout(PATIENCE_MS)).next();
      const [{ readBundle }] = large as LogMessage[];
      expect(String(await buffer(readBundle!()))).toBe('bundle');
      await log.listen('status', () => 7);
      await becomes(() => log.ask('status'), [7]);
      expect(await log.trim(1)).toEqual({ to: 1, freed: 1 });
      const byToken = await serve('authorization { token: "of-all" }');
      await makes({ servers: byToken, credentials: fileOf('token', 'of-all') });
      const { config, creds } = operatorMode();
      const byCreds = await serve(config);
      await makes({ servers: byCreds, credentials: fileOf('user.creds', creds) });
      await until(reach({ servers: byCreds }), /Authorization Violation/);
      await until(reach({ servers: byToken.map((url) => url.replace('nats:', 'tls:')) }), /tls/);
    });

    it('are not contacted with a malformed credentials file', () => {
      for (const text of ['', 'two words\nand lines', operatorMode().creds.slice(0, 200)]) {
        const credentials = fileOf('none', text);
        expect(() => reach({ servers: ['nats://127.0.0.1:1'], credentials })).toThrow(
          /none: expected a \.creds file of NATS, an NKEY seed, USER:PASSWORD or a token$/,
        );
      }
    });
  },
);
