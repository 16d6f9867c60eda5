/** Starts nginx, if it is installed, as a static server of one folder. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { findProgram, freePorts, type RunningProgram, startProgram } from '../programs.js';
import { NotRunError } from './peer.js';

interface RunningNginx extends RunningProgram {
  url: string;
  version: string;
}

/**
 * @param home a folder for its own files
 * @param root what it serves
 * @throws NotRunError if it is not installed
 */
export async function startNginx(home: string, root: string): Promise<RunningNginx> {
  const file = findProgram('nginx');
  if (file === null) throw new NotRunError('not installed: no nginx on PATH');
  await mkdir(home);
  const [port] = await freePorts(1);
  const config = path.join(home, 'nginx.conf');
  await writeFile(config, configOf(home, root, port));
  const url = `http://127.0.0.1:${port}`;
  const answer = () => fetch(url).catch(() => null);
  const words = ['-e', 'stderr', '-p', home, '-c', config];
  const isReady = async () => (await answer()) !== null;
  const program = await startProgram(file, words, { cwd: home }, 'SIGTERM', isReady);
  const version = (await answer())?.headers.get('server')?.replace('/', ' ') ?? 'nginx';
  return { ...program, url, version };
}

/** One process per core; files stay open; no log; connections stay open as long as clients want. */
function configOf(home: string, root: string, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
worker_processes auto;
pid ${home}/nginx.pid;
${process.getuid?.() === 0 ? 'user root root;' : ''}
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=1000;
  keepalive_requests 1000000000;
  default_type application/vnd.apache.parquet;
  ${temporary.map((name) => `${name}_temp_path ${home}/${name};`).join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    root ${root};
  }
}
`;
}
