/** The scripts of `fathom completion`, run by the installed shells. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { fathom } from '../support/cli.js';
import { temporaryDirectory } from '../support/folders.js';
import { hasProgram } from '../support/programs.js';

/** What is typed, and how its last word is completed. */
const TYPED: readonly [string, string][] = [
  ['fathom inges', 'ingest'],
  ['fathom help im', 'import'],
  ['fathom keys cre', 'create'],
  ['fathom keys create --tier pr', 'premium'],
  ['fathom ingest snap', 'snapshots'],
  ['fathom ingest tokens --fo', '--format'],
  ['fathom ingest tokens --format pa', 'parquet'],
  ['fathom import --type cex_spot tardis-b', 'tardis-book-snapshot'],
  ['fathom replay X --data x --group ven', 'venue'],
];

const word = (text: string) => `'${text}'`;

const ZSH_SETUP = [
  'compdef() { :; }',
  '_describe() { compadd -- "${(@)${(P)2}%%:*}"; }',
  'source SCRIPT',
  'zle -C finish complete-word _fathom; bindkey "^I" finish',
  'show() { print -r -- "<${${BUFFER% }##* }>"; zle kill-whole-line; }; zle -N show; bindkey "^X" show',
  'print ready-${:-now}',
].join('\n');

/** A program in the shell's language that prints one completion per line. */
const PROGRAMS: Record<string, (script: string) => string> = {
  bash: (script) => `source ${script}
    try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fathom; echo "\${COMPREPLY[*]}"; }
    ${TYPED.map(([line]) => `try ${line}`).join('\n')}`,
  fish: (script) => `source ${script}
    ${TYPED.map(([line]) => `complete -C ${word(line)} | string replace -r '\\t.*' ''`).join('\n')}`,
  // A separate shell in a terminal: Tab completes, and another key prints the line's last word. Without zsh's own
  // completion system, which takes seconds to load.
  zsh: (script) => `zmodload zsh/zpty
    zpty z zsh -f -i
    zpty -w z ${word(ZSH_SETUP.replace('SCRIPT', script))}
    zpty -r z out '*ready-now*'
    for line in ${TYPED.map(([line]) => word(line)).join(' ')}; do
      zpty -w -n z "$line"$'\\t\\x18'
      zpty -r z out '*<*>*'
      print -r -- "\${\${out%>*}##*<}"
    done`,
};

describe.each(Object.entries(PROGRAMS))('%s', (shell, program) => {
  it.runIf(hasProgram(shell))('completes commands, flags and values', async () => {
    const script = path.join(temporaryDirectory(), 'fathom');
    writeFileSync(script, (await fathom(['completion', shell])).stdout);
    const { stdout, stderr } = spawnSync(shell, ['-c', program(script)], {
      encoding: 'utf8',
    });
    const completed = stdout.trimEnd().split('\n');
    expect({ completed, stderr }).toEqual({ completed: TYPED.map(([, to]) => to), stderr: '' });
  });
});
