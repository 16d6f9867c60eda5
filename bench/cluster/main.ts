/**
 * `npm run bench:cluster`: what a node of a cluster costs compared with a single machine (commits, pages, bots), how fast
 * another node catches up, and how large entries are in the log.
 */
import { temporaryFolder } from '../folder.js';
import { machineFacts, revision } from '../machine.js';
import { BenchFailure } from '../errors.js';
import { headingOf, runProgram, SMOKE_NOTE, reportProgress, writeResults } from '../program.js';
import { commitLines, type CommitsResult, measureCommits } from './commits.js';
import { hasNats } from './nats.js';
import { readClusterOptions, USAGE } from './options.js';
import { measureReading, readingLines } from './reading.js';

await runProgram('bench:cluster', USAGE, async (words) => {
  const options = readClusterOptions(words);
  if (!hasNats) throw new BenchFailure('needs nats-server');
  const machine = machineFacts();
  const folder = temporaryFolder('fathom-bench-cluster-');
  try {
    const commits: CommitsResult[] = [];
    for (const servers of options.servers) {
      reportProgress(`commits, servers of JetStream: ${servers}`);
      commits.push(await measureCommits(options, folder.path, servers));
    }
    const reading = await measureReading(options);
    const results = { commits, reading };
    await writeResults(options.jsonFile, { machine, revision: revision(), options, results });
    const lines = [
      headingOf(machine),
      '',
      ...commitLines(commits),
      '',
      ...readingLines(reading),
      ...(options.smoke ? ['', SMOKE_NOTE] : []),
    ];
    process.stdout.write(`${lines.join('\n')}\n`);
  } finally {
    await folder.remove();
  }
});
