/**
 * A build for comparisons, described by its argument in JSON: how long its cases take, what they count
 * and give, which cases it has, and where it fails.
 */
const {
  busyMs = 1,
  bytesOut = 100,
  hash = '00000000',
  lastHash = hash,
  names = ['page A/made up', 'page A/other'],
  /** Requests, or the first result of the case, at which it fails. */
  failsAt = null,
  /** The request at which its process ends. */
  diesAt = null,
} = JSON.parse(process.argv[2] ?? '{}');

/** The turns it took. Which case looks slow must not depend on a busy machine: times are given, not measured. */
let turns = 0;

function answer({ kind, name }) {
  if (kind === diesAt) process.exit(3);
  // Only the first case is a bad one.
  const isBad = name === undefined || name === names[0];
  if (kind === failsAt && isBad) return { kind: 'failed', reason: 'made to fail' };
  switch (kind) {
    case 'load': {
      const bad = failsAt === 'first result' ? [names[0]] : [];
      const good = names.filter((one) => !bad.includes(one));
      return {
        kind: 'loaded',
        whole: true,
        cases: good.map((one) => ({
          name: one,
          hash: one === names[0] ? hash : '00000000',
          counters: { bytesOut: one === names[0] ? bytesOut : 100 },
        })),
        failures: bad.map((what) => ({ what, reason: 'made to fail' })),
      };
    }
    case 'turn': {
      const tenth = (turns++ % 7) / 60;
      return { kind: 'turn', medianMs: (name === names[0] ? busyMs : 0.1) * (1 + tenth) };
    }
    case 'hash':
      return { kind: 'hash', hash: name === names[0] ? lastHash : '00000000' };
    default:
      return { kind: 'unloaded' };
  }
}

process.on('message', (request) => process.send(answer(request)));
process.on('disconnect', () => process.exit());
