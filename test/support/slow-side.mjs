/** A build for comparisons whose one case takes as long, and counts as much, as its words say. */
const [, , busyMs = '1', bytesOut = '100'] = process.argv;
const name = 'page A/made up';

function busy(ms) {
  for (const end = performance.now() + ms; performance.now() < end;);
}

process.on('message', ({ kind }) => {
  switch (kind) {
    case 'load':
      process.send({
        kind: 'loaded',
        cases: [{ name, hash: '00000000', counters: { bytesOut: Number(bytesOut) } }],
      });
      break;
    case 'turn': {
      const before = performance.now();
      busy(Number(busyMs));
      process.send({ kind: 'turn', medianMs: performance.now() - before });
      break;
    }
    default:
      process.send({ kind: 'unloaded' });
  }
});
process.on('disconnect', () => process.exit());
