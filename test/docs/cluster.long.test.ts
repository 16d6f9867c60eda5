/** The trial of docs/cluster.md, as a reader runs it: a log and two nodes on one machine. */
import { execFile } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { hasNats } from '../../bench/nats.js';
import { freePorts } from '../../bench/programs.js';
import { temporaryDirectory } from '../support/folders.js';
import { cleanEnvironment } from '../support/processes.js';
import { hasProgram } from '../support/programs.js';
import { documentNamed } from './documents.js';

const run = promisify(execFile);
const PORTS_IN_DOCUMENT = ['4222', '8081', '8082'];
/** Separates the trial's output from what the test asks. */
const NEXT = '--- next';
const DEADLINE_MS = 120_000;

it.runIf(hasNats && hasProgram('bash') && hasProgram('curl'))(
  'the second node returns the page of what only the first was given, and all of it stops',
  async () => {
    const cwd = temporaryDirectory();
    for (const name of ['fathom', 'test']) symlinkSync(path.resolve(name), path.join(cwd, name));
    const ports = await freePorts(PORTS_IN_DOCUMENT.length);
    const [trial, stop] = documentNamed('docs/cluster.md')
      .blocks.filter(({ info }) => info === 'sh run')
      .map(({ text }) =>
        PORTS_IN_DOCUMENT.reduce(
          (adapted, port, i) => adapted.replaceAll(port, `${ports[i]}`),
          text,
        ),
      );
    const script = `
trap 'echo "status $?: $BASH_COMMAND" >&2; kill $(jobs -p)' ERR
${trial}
echo '${NEXT}'
curl -sf -H "x-api-key: $FATHOM_KEY" "http://127.0.0.1:${ports[2]}/api/v1/replay/$TOKEN"
echo
${stop}
jobs -p
`;
    const { stdout } = await run('bash', ['-euc', script], {
      cwd,
      env: cleanEnvironment({}),
      timeout: DEADLINE_MS,
    });
    const [printed, after] = stdout.split(`${NEXT}\n`);
    const hashes = printed.match(/^[0-9a-f]{64}(?= {2}-$)/gm) ?? [];
    expect(hashes).toHaveLength(2);
    expect(hashes[1]).toBe(hashes[0]);
    const [page, ...left] = after.trim().split('\n');
    expect((JSON.parse(page) as { snapshots: unknown[] }).snapshots.length).toBeGreaterThan(200);
    expect(left).toEqual([]);
  },
  DEADLINE_MS,
);
