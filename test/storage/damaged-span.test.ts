import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';
import { DamagedSpanError } from '../../storage/damaged-span.js';

it.each(['data', '/srv/data', "it's here", 'a b/$HOME', '~', '"quoted"', '*', 'back\\slash', 'é'])(
  'The command that a refusal names reaches the store, from any folder of a shell: %s',
  (directory) => {
    const token = { chain: 'mainchain' as const, address: 'A' };
    const block = { ...token, id: 1, tier: 'raw' as const, times: Uint32Array.of(60, 120) };
    const { message } = new DamagedSpanError(directory, [block], new Error('why'));
    const [, words] = /: fathom delete (.*)$/.exec(message) ?? [];
    const shell = spawnSync('sh', ['-c', `printf '%s\\n' ${words}`], { cwd: '/' });
    expect(shell.stdout.toString().trimEnd().split('\n')).toEqual([
      ...['--data', path.resolve(directory)],
      ...['--token', 'mainchain:A', '--tier', 'raw'],
      ...['--from', '1970-01-01T00:01:00Z', '--to', '1970-01-01T00:02:01Z'],
    ]);
  },
);
