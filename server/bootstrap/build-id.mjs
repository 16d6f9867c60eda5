/**
 * Writes which sources a build is made of into dist/build-id, which storage/version.ts reads: the commit where it is
 * known, and whether anything differs from it. Of sources without git, SOURCE_COMMIT may tell it.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const COMMIT_LENGTH = 12;
const COMMIT = /^[0-9a-f]{12,64}$/;

/** What git prints, or null where it cannot answer. */
function git(folder, ...words) {
  const { status, stdout } = spawnSync('git', ['--no-optional-locks', ...words], {
    cwd: folder,
    encoding: 'utf8',
  });
  return status === 0 ? stdout.trim() : null;
}

/**
 * @param folder of the sources
 * @param told the commit, if the environment names one
 * @returns `0c8f5565b0b1`, `0c8f5565b0b1.modified` if the sources differ from that commit, or null if it is unknown
 */
export function buildId(folder, told = process.env.SOURCE_COMMIT) {
  // Sources without git may lie in a folder of somebody else's repository.
  const top = git(folder, 'rev-parse', '--show-toplevel');
  if (top === null || realpathSync(top) !== realpathSync(folder)) {
    return told !== undefined && COMMIT.test(told) ? told.slice(0, COMMIT_LENGTH) : null;
  }
  const commit = git(folder, 'rev-parse', '--verify', 'HEAD');
  const changes = git(folder, 'status', '--porcelain');
  if (commit === null || changes === null) return null;
  return commit.slice(0, COMMIT_LENGTH) + (changes === '' ? '' : '.modified');
}

/** Brings dist/build-id of a folder up to date. */
export function writeBuildId(folder) {
  const file = path.join(folder, 'dist/build-id');
  const id = buildId(folder);
  if (id === null) rmSync(file, { force: true });
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== `${id}\n`) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `${id}\n`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeBuildId(path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..'));
}
