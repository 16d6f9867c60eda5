/** The trial of docs/cluster.md, as a reader runs it: a log and two nodes on one machine. */
import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
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
        text.replaceAll(/\b\d{4}\b(?=[ /]|$)/gm, (word) => {
          const i = PORTS_IN_DOCUMENT.indexOf(word);
          return i < 0 ? word : `${ports[i]}`;
        }),
      );
    const script = `
trap 'echo "status $?: $BASH_COMMAND" >&2; kill $(jobs -p)' ERR
${trial}
echo '${NEXT}'
curl -sf -H "x-api-key: $FATHOM_KEY" "http://127.0.0.1:${ports[2]}/api/v1/replay/$TOKEN" -o page.json
${stop}
jobs -p
`;
    const { stdout } = await run('bash', ['-euc', script], {
      cwd,
      env: cleanEnvironment({}),
      timeout: DEADLINE_MS,
    });
    const [printed, left] = stdout.split(`${NEXT}\n`);
    const hashes = printed.match(/^[0-9a-f]{64}(?= {2}-$)/gm) ?? [];
    expect(hashes).toHaveLength(2);
    expect(hashes[1]).toBe(hashes[0]);
    const page = readFileSync(path.join(cwd, 'page.json'), 'utf8');
    expect((JSON.parse(page) as { snapshots: unknown[] }).snapshots.length).toBeGreaterThan(200);
    expect(left.trim()).toBe('');
  },
  DEADLINE_MS,
);
