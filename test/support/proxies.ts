/** The proxies of docs/deploy, if installed, in front of a server. */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePorts } from '../../bench/programs.js';
import { temporaryDirectory } from './folders.js';

const PROXIES = {
  nginx(folder: string, configuration: string): string[] {
    writeFileSync(path.join(folder, 'fathom.conf'), configuration);
    const main = `daemon off; pid ${folder}/pid; error_log stderr; events {}
      http { access_log off; proxy_temp_path ${folder}; client_body_temp_path ${folder};
        include ${folder}/fathom.conf; }`;
    writeFileSync(path.join(folder, 'nginx.conf'), main);
    return ['-c', path.join(folder, 'nginx.conf')];
  },
  haproxy(folder: string, configuration: string): string[] {
    writeFileSync(path.join(folder, 'haproxy.cfg'), configuration);
    return ['-db', '-f', path.join(folder, 'haproxy.cfg')];
  },
};

type ProxyName = keyof typeof PROXIES;
export const PROXY_NAMES = Object.keys(PROXIES) as ProxyName[];
export const INSTALLED_PROXIES = PROXY_NAMES.filter((program) => {
  try {
    execFileSync(program, ['-v'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
});

export interface Proxy {
  url: string;
  /** @throws Error with the proxy's output if it has ended */
  check(): void;
  stop(): Promise<void>;
}

/** Starts a proxy from its sample, with a free port and its own certificate, in front of a server's port. */
export async function startProxy(program: ProxyName, serverPort: number): Promise<Proxy> {
  const folder = temporaryDirectory();
  makeCertificate(folder);
  const [port] = await freePorts(1);
  const configuration = readFileSync(path.join('docs/deploy', `${program}.${SUFFIXES[program]}`))
    .toString()
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${serverPort}`)
    .replace('inter 2s', 'inter 100ms')
    .replaceAll('port 8081', `port ${serverPort}`)
    .replace(/(listen|bind :)( ?)443/, `$1$2${port}`)
    .replaceAll('/etc/ssl/fathom', folder);
  const words = PROXIES[program](folder, configuration);
  const proxy = spawn(program, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  proxy.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const ended = new Promise((resolve) => proxy.once('exit', resolve));
  return {
    url: `https://127.0.0.1:${port}`,
    check() {
      if (proxy.exitCode !== null) throw new Error(log);
    },
    async stop() {
      proxy.kill('SIGTERM');
      await ended;
    },
  };
}

const SUFFIXES = { nginx: 'conf', haproxy: 'cfg' } as const;

function makeCertificate(folder: string): void {
  const certificate = ['-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-days', '1'];
  const files = ['-keyout', `${folder}/privkey.pem`, '-out', `${folder}/fullchain.pem`];
  execFileSync('openssl', ['req', '-x509', ...certificate, ...files], { stdio: 'ignore' });
  const both = ['fullchain', 'privkey'].map((name) => readFileSync(`${folder}/${name}.pem`));
  writeFileSync(`${folder}/fathom.pem`, Buffer.concat(both));
}
