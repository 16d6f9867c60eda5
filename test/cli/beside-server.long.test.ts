/** Commands beside a running server: of another version, without the socket, and when the server is killed. */
import {
  cpSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectToServer, SOCKET_FILE } from '../../storage/control.js';
import { VERSION } from '../../storage/version.js';
import { fathom, serve, serveHere } from '../support/cli.js';
import { atEnd, temporaryDirectory } from '../support/folders.js';
import { losingReplyTo } from '../support/lost-reply.js';
import { run } from '../support/processes.js';
import { snapshot } from '../support/stores.js';
import { eventually } from '../support/waiting.js';

const newDirectory = (): string => path.join(temporaryDirectory(), 'data');
const createKey = (data: string) => fathom(['keys', 'create', '--tier', 'premium', '--data', data]);
const keysOf = async (data: string) =>
  JSON.parse((await fathom(['keys', 'list', '--data', data, '--json'])).stdout) as unknown[];

/** A build of this program that says that it is of another version. */
function buildOf(version: string): string {
  const folder = temporaryDirectory();
  for (const room of ['collect', 'compute', 'demo', 'server', 'storage']) {
    cpSync(path.resolve('dist', room), path.join(folder, 'dist', room), { recursive: true });
  }
  symlinkSync(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  cpSync('package.json', path.join(folder, 'package.json'));
  const file = path.join(folder, 'dist/storage/version.js');
  writeFileSync(file, readFileSync(file, 'utf8').replace(`'${VERSION}'`, `'${version}'`));
  return path.join(folder, 'dist/server/cli/main.js');
}

/** A program that is not our server, on the socket of a directory. */
async function otherServer(data: string, answer: string): Promise<void> {
  mkdirSync(data, { recursive: true });
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(answer));
  });
  atEnd(() => server.close());
  await new Promise<void>((resolve) => server.listen(path.join(data, SOCKET_FILE), resolve));
}

describe('a command of another version than the server', () => {
  it('is rejected by the server, with both versions', async () => {
    const data = newDirectory();
    const server = await serveHere(data);
    const words = ['keys', 'create', '--tier', 'premium', '--data', data];
    const { status, stdout, stderr } = await run(process.execPath, [buildOf('9.8.7'), ...words]);
    const why = `the command's version is 9.8.7, the server's ${VERSION}: use the server's version, and restart the server after an upgrade`;
    expect([status, stdout, stderr]).toEqual([1, '', `${why}\n`]);
    const rejected = server
      .logged()
      .split('\n')
      .filter((line) => line.includes('rejected'));
    expect(rejected).toEqual([expect.stringContaining(`"msg":"a command was rejected: ${why}"`)]);
    expect(rejected[0]).toContain('"level":"warn"');
    expect(await keysOf(data)).toEqual([]);
  });

  it.each([
    ['ends the connection', ''],
    ['answers no HTTP', '\u0000\u0000\u0000\u0007nothing'],
    ['answers without a version', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\u0080'],
  ])('says so if the server %s', async (_, answer) => {
    const data = newDirectory();
    await otherServer(data, answer);
    const { status, stderr } = await createKey(data);
    expect([status, stderr]).toEqual([
      1,
      `the server did not give its version: nothing more was stored; if it was stopping, run the command again; if its version is not that of this command, ${VERSION}, use the server's version, and restart the server after an upgrade\n`,
    ]);
  });
});

describe('a socket that is gone while the server runs', () => {
  it('is made again, and the log says so', async () => {
    const data = newDirectory();
    const server = await serveHere(data);
    const socket = path.join(data, SOCKET_FILE);
    const isLogged = (text: string) => () => server.logged().includes(`${SOCKET_FILE} was ${text}`);
    rmSync(socket);
    expect((await createKey(data)).status).toBe(0);
    const again = 'removed or replaced: the server made it again and takes commands';
    expect(isLogged(again)()).toBe(true);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    rmSync(socket);
    mkdirSync(socket);
    await eventually(
      'it says why it cannot',
      isLogged('removed or replaced, and the server takes no commands: '),
    );
    rmdirSync(socket);
    expect((await createKey(data)).status).toBe(0);
    rmSync(socket);
    await otherServer(data, '');
    await eventually('it replaces another program', async () => (await keysOf(data)).length === 2);
    expect(server.logged().split(again)).toHaveLength(4);
  });
});

describe('a server that is killed before it answers', () => {
  const gone = 'fathom: the server went away before it answered';

  it('may have stored the change', async () => {
    const data = newDirectory();
    const server = await serve(data, ['--port', '0', '--threads', '1']);
    const created = await losingReplyTo('createKey', server.pid, () => createKey(data));
    expect([created.status, created.stderr]).toEqual([
      1,
      `${gone}: the change may or may not have been stored; fathom keys list shows whether it has\n`,
    ]);
    await server.stop();
    const next = await serve(data, ['--port', '0', '--threads', '1']);
    const file = path.join(data, 'one.ndjson');
    writeFileSync(file, JSON.stringify(snapshot(1_794_000_000)));
    const words = ['ingest', 'snapshots', file, '--data', data];
    const ingested = await losingReplyTo('commit', next.pid, () => fathom(words));
    expect([ingested.status, ingested.stderr]).toEqual([
      1,
      `${gone}: the change may or may not have been stored; try again, which is harmless if it has\n`,
    ]);
    await next.stop();
    expect((await fathom(words)).status).toBe(0);
  });

  it('is only gone for a command that changes nothing', async () => {
    const data = newDirectory();
    const server = await serve(data, ['--port', '0', '--threads', '1']);
    const remote = await connectToServer(data);
    const listed = losingReplyTo('listKeys', server.pid, () => remote!.listKeys());
    await expect(listed).rejects.toThrow(/^the server went away before it answered$/);
    remote?.close();
  });
});
