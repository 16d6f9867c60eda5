/** Runs the commands of `fathom`. Exit status: 0 done, 1 failed, 2 wrong usage. */
import { PendingError, UsageError } from '../../storage/errors.js';
import type { Command } from './command.js';
import type { NamedCommand } from './commands/completion.js';
import { didYouMean } from './flags.js';
import { commandHelp, overview } from './help.js';
import { PartlyDone, failureDocument, failureText, printJson, printLine, tell } from './output.js';
import { checkDescriptors } from '../http/connection-limit.js';
import { VERSION } from '../version.js';

interface Listed {
  /** What it does, in a few words. */
  summary: string;
  load: () => Promise<Command>;
}

const cluster = () => import('./commands/cluster.js');
const keys = () => import('./commands/keys.js');

/** Modules are loaded on demand, since most commands need little of the program. */
const COMMANDS: Readonly<Record<string, Listed>> = {
  serve: {
    summary: 'runs the server on a data directory',
    load: async () => {
      checkDescriptors();
      return (await import('./commands/serve.js')).command;
    },
  },
  start: {
    summary: 'runs the server with a live demo market',
    load: async () => {
      checkDescriptors();
      return (await import('./commands/start.js')).command;
    },
  },
  config: {
    summary: 'shows the settings of serve, and where each comes from',
    load: async () => (await import('./commands/config.js')).command,
  },
  ingest: {
    summary: 'loads files of a dataset',
    load: async () => (await import('./commands/ingest.js')).command,
  },
  import: {
    summary: 'loads market data of others: order books, pool states, token lists',
    load: async () => (await import('./commands/import.js')).command,
  },
  delete: {
    summary: "deletes a token's depth",
    load: async () => (await import('./commands/delete.js')).command,
  },
  backup: {
    summary: 'copies a store, also while it is served',
    load: async () => (await import('./commands/backup.js')).command,
  },
  check: {
    summary: 'reads all of a store and says what is damaged',
    load: async () => (await import('./commands/check.js')).command,
  },
  prune: {
    summary: 'deletes depth history before a time',
    load: async () => (await import('./commands/prune.js')).command,
  },
  retention: {
    summary: 'lets retention go on that waits',
    load: async () => (await import('./commands/retention.js')).command,
  },
  follow: {
    summary: "prints a token's depth as it changes, from a running server",
    load: async () => (await import('./commands/follow.js')).command,
  },
  replay: {
    summary: 'downloads depth history from a server into a file',
    load: async () => (await import('./commands/replay.js')).command,
  },
  'keys create': { summary: 'makes an API key', load: async () => (await keys()).create },
  'keys list': { summary: 'lists the API keys', load: async () => (await keys()).list },
  'keys update': {
    summary: "changes a key's name, plan, limits or expiry",
    load: async () => (await keys()).update,
  },
  'keys rotate': { summary: 'gives a key a new text', load: async () => (await keys()).rotate },
  'keys revoke': { summary: 'ends a key', load: async () => (await keys()).revoke },
  usage: {
    summary: 'prints the calls of every key in a month',
    load: async () => (await import('./commands/usage.js')).command,
  },
  queue: {
    summary: 'lists the tokens that wait for data',
    load: async () => (await import('./commands/queue.js')).command,
  },
  'cluster status': {
    summary: 'lists the nodes of a cluster',
    load: async () => (await cluster()).status,
  },
  'cluster trim': {
    summary: "frees old entries of a cluster's log",
    load: async () => (await cluster()).trim,
  },
  'cluster forget': {
    summary: 'forgets a node that does not answer any more',
    load: async () => (await cluster()).forget,
  },
  'cluster leave': {
    summary: 'makes a stopped node a single server',
    load: async () => (await cluster()).leave,
  },
  demo: {
    summary: 'fills a data directory with a simulated market',
    load: async () => (await import('./commands/demo.js')).command,
  },
  completion: {
    summary: 'prints a script by which a shell completes commands and flags',
    load: async () => (await import('./commands/completion.js')).completionOf(loadAll),
  },
};
export const COMMAND_NAMES = Object.keys(COMMANDS);

export const FAILED = 1;
const WRONG_USAGE = 2;
/** What was asked for is done, or may be, but not yet by this node. */
const PENDING = 3;
const HELP_FLAGS = ['--help', '-h'];

/** A command by its name. */
export async function loadCommand(name: string): Promise<Command> {
  return COMMANDS[name].load();
}

function loadAll(): Promise<NamedCommand[]> {
  return Promise.all(
    Object.entries(COMMANDS).map(async ([name, { summary, load }]) => ({
      ...{ name, summary },
      command: await load(),
    })),
  );
}

/** Runs a command. @returns the exit status */
export async function runCommand(given: readonly string[]): Promise<number> {
  const [first] = given;
  if (first === undefined) {
    tell(allCommands());
    return WRONG_USAGE;
  }
  if (first === '--version' || first === '-V') {
    printLine(VERSION);
    return 0;
  }
  let name = '';
  try {
    if (first === 'help' || HELP_FLAGS.includes(first)) {
      printLine(await helpOn(given.slice(1).filter((word) => !HELP_FLAGS.includes(word))));
      return 0;
    }
    if (given.some((word) => HELP_FLAGS.includes(word))) {
      printLine(await helpOn(given.filter((word) => !word.startsWith('-'))));
      return 0;
    }
    // A group until its action is known.
    name = actionsOf(first).length > 0 ? first : '';
    name = commandName(given);
    const command = await loadCommand(name);
    await command.run(given.slice(name.split(' ').length));
    return 0;
  } catch (error) {
    return report(error, name, given.includes('--json'));
  }
}

/** The name of the command that the words call, of one word or two. @throws UsageError */
function commandName(given: readonly string[]): string {
  const [first, second] = given;
  for (const name of [`${first} ${second}`, first]) if (Object.hasOwn(COMMANDS, name)) return name;
  const group = actionsOf(first);
  if (group.length > 0) {
    const last = group.at(-1);
    const list = `${group.slice(0, -1).join(', ')} or ${last}`;
    const instead = second === undefined ? '' : `, not ${second}${didYouMean(second, group)}`;
    throw new UsageError(`${first}: expected ${list}${instead}`);
  }
  if (first.startsWith('-')) {
    throw new UsageError(`unknown flag ${first}${didYouMean(first, ['--help', '--version'])}`);
  }
  const names = COMMAND_NAMES.map((name) => name.split(' ')[0]);
  throw new UsageError(`unknown command ${first}${didYouMean(first, [...new Set(names)])}`);
}

/** Second words of the commands that begin with a word. */
function actionsOf(first: string): string[] {
  return COMMAND_NAMES.filter((name) => name.startsWith(`${first} `)).map(
    (name) => name.split(' ')[1],
  );
}

/** The help on a command, on a group of commands, or on all of them. @throws UsageError */
async function helpOn(given: readonly string[]): Promise<string> {
  if (given.length === 0) return allCommands();
  const [first] = given;
  if (given.length === 1 && actionsOf(first).length > 0) return allCommands(`${first} `);
  const name = commandName(given);
  return commandHelp(name, await loadCommand(name));
}

function allCommands(prefix = ''): string {
  const listed = Object.entries(COMMANDS).filter(([name]) => name.startsWith(prefix));
  return overview(
    Object.fromEntries(listed.map(([name, { summary }]) => [name, summary])),
    VERSION,
  );
}

/** Reports a failure on stderr, and with `--json` on stdout, too. @returns the exit status */
function report(error: unknown, name: string, wantsJson: boolean): number {
  if (wantsJson) printJson(failureDocument(error));
  const cause = error instanceof PartlyDone ? error.cause : error;
  if (cause instanceof UsageError) {
    tell(`fathom: ${cause.message}\n${`See fathom help ${name}`.trim()}`);
    return WRONG_USAGE;
  }
  tell(failureText(cause));
  return cause instanceof PendingError ? PENDING : FAILED;
}
