/** Tells `npm start` of a port in use before the build, which may take minutes. */
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** As those of `serve`. */
const DEFAULTS = { host: '127.0.0.1', port: '8080' };

/** A setting from the flag, the variable or the config file, in that order; wrong ones are left to `serve`. */
function setting(name, words, config) {
  const flag = `--${name}`;
  const at = words.lastIndexOf(flag);
  const joined = words.findLast((word) => word.startsWith(`${flag}=`));
  const given = at >= 0 ? words[at + 1] : joined?.slice(flag.length + 1);
  return given ?? (process.env[`FATHOM_${name.toUpperCase()}`] || (config[name] ?? DEFAULTS[name]));
}

/** The config file's settings; none if it cannot be read. */
function configured() {
  const file = process.env.FATHOM_CONFIG || 'fathom.config.json';
  try {
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
  } catch {
    return {};
  }
}

/** @returns what to tell if the port that `fathom start` would take is in use, else null */
export async function takenPort(words) {
  if (words.includes('--help') || words.includes('-h')) return null;
  const config = configured() ?? {};
  const [host, port] = ['host', 'port'].map((name) => String(setting(name, words, config)));
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number === 0 || number > 65_535) return null;
  const server = createServer();
  const code = await new Promise((resolve) => {
    server.once('error', (error) => resolve(error.code));
    server.listen({ host, port: number, exclusive: true }, () => server.close(() => resolve(null)));
  });
  if (code !== 'EADDRINUSE') return null;
  const other = number < 65_535 ? number + 1 : number - 1;
  return `port ${port} on ${host} is in use: stop what listens there, or choose another port: npm start -- --port ${other}`;
}
