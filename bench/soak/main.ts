/** `npm run soak`: a server under mixed load; exits with status 1 if memory, handles or files grow. */
import { PAGE_A } from '../data/pages.js';
import { temporaryFolder } from '../folder.js';
import { fullSegmentStore } from '../growth/full-segments.js';
import { asOfS } from '../growth/growth-store.js';
import { startBenchServer } from '../http/server.js';
import { COLLECTED_S, fillBots } from '../load/collector.js';
import { machineFacts, revision } from '../machine.js';
import { headingOf, runProgram, SMOKE_NOTE, reportProgress, writeResults } from '../program.js';
import { aligned, figure } from '../report.js';
import { underLoad, type SoakWork } from './load.js';
import { readSoakOptions, USAGE, type SoakOptions } from './options.js';
import { peakMib, takeSample, trendsOf, type Sample } from './samples.js';

const GREW = 1;

interface SoakResult {
  work: SoakWork;
  samples: Sample[];
  peakMib: number;
}

async function main(words: readonly string[]): Promise<number> {
  const options = readSoakOptions(words);
  const machine = machineFacts();
  const result = await soak(options);
  const { smoke, jsonFile, forMs, memoryMib } = options;
  const trends = trendsOf(result.samples);
  await writeResults(jsonFile, {
    machine,
    revision: revision(),
    smoke,
    forMs,
    memoryMib,
    trends,
    ...result,
  });
  const grown = smoke ? [] : trends.filter(({ grew }) => grew).map(({ held }) => held);
  const columns = ['held', 'least of each third', '', '', 'most', 'grew'];
  const rows = trends.map(({ held, thirds, most, grew }) => [
    held,
    ...[...thirds, most].map((value) => (Number.isNaN(value) ? '' : figure(value))),
    grew ? 'yes' : '',
  ]);
  const spare = memoryMib - result.peakMib;
  const lines = [
    headingOf(machine),
    '',
    `${figure(forMs / 1000)} s: ${Object.entries(result.work)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ')}`,
    '',
    ...aligned([columns, ...rows], ['held', 'grew']),
    '',
    `Resident memory was ${figure(result.peakMib)} MiB at most: ${figure(Math.abs(spare))} MiB ${spare < 0 ? 'over' : 'under'} ${memoryMib} MiB.`,
    grown.length === 0 ? 'Nothing grew.' : `Grew: ${grown.join(', ')}.`,
    ...(smoke ? [SMOKE_NOTE] : []),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  return grown.length === 0 ? 0 : GREW;
}

async function soak(options: SoakOptions): Promise<SoakResult> {
  const { smoke, forMs, memoryMib, sampleMs, pageTokens, botTokens } = options;
  const data = temporaryFolder();
  const files = temporaryFolder();
  const place = { directory: data.path, folder: files.path };
  try {
    reportProgress('filling');
    const store = await fullSegmentStore({
      name: 'soak',
      directory: data.path,
      tokens: pageTokens,
      snapshots: 2 * PAGE_A.snapshots,
      pageSnapshots: PAGE_A.snapshots,
    });
    await fillBots({ ...place, tokens: botTokens, fromS: asOfS(store) - COLLECTED_S });
    const server = await startBenchServer(data.path, asOfS(store), {
      smoke,
      flags: ['--memory-mib', String(memoryMib)],
    });
    reportProgress(`${forMs / 1000} s under load`);
    const samples: Sample[] = [];
    let sampling: Promise<void> = Promise.resolve();
    const timer = setInterval(() => {
      sampling = sampling.then(async () => {
        samples.push(await takeSample(server, data.path));
      });
      // Awaited at the end; until then the load reports failures of the server.
      sampling.catch(() => undefined);
    }, sampleMs);
    try {
      const work = await underLoad({ ...place, server, store, botTokens, forMs });
      clearInterval(timer);
      await sampling;
      return { work, samples, peakMib: await peakMib(server.pid) };
    } finally {
      clearInterval(timer);
      await server.stop();
    }
  } finally {
    await data.remove();
    await files.remove();
  }
}

await runProgram('soak', USAGE, main);
