/** Runs the commands of `fathom`. Exit status: 0 done, 1 failed, 2 wrong usage, 3 pending. */
import { PendingError, UsageError } from '../../storage/errors.js';
import type { Command } from './command.js';
import { asksForHelp, didYouMean, HELP_FLAGS } from './flags.js';
import { commandHelp, overview } from './help.js';
import {
  PartlyDone,
  failureDocument,
  failureText,
  printJson,
  printLine,
  printNote,
} from './output.js';
import { SERVERS } from './signals.js';
import { unknownVariables } from './variables.js';
import { checkDescriptors } from '../http/connection-limit.js';
import { BUILD, VERSION } from '../../storage/version.js';

/**
 * What each command does, in a few words; help lists them in this order. The first word of a name is also the name of
 * the module in `commands`.
 */
const SUMMARIES: Readonly<Record<string, string>> = {
  serve: 'runs the server on a data directory',
  start: 'runs the server with a live demo market',
  config: 'shows the settings of serve, and where each comes from',
  ingest: 'loads files of a dataset',
  import: 'loads market data in foreign formats: order books, pool states, token lists',
  collect: 'collects order books from exchanges, and stores them as they change',
  delete: "deletes a token's depth",
  backup: 'copies a store, even while a server uses it',
  check: 'reads a whole store and lists what is damaged',
  prune: 'deletes depth history before a time',
  retention: 'resumes retention that waits for approval',
  'archive status': 'shows what is in the archive',
  'archive run': 'archives the days that are due',
  'archive restore': 'brings archived days back into the store',
  'archive collect': 'removes objects of the archive that nothing names',
  tokens: 'lists tokens by symbol, name or address',
  follow: "prints a token's depth as it changes, from a running server",
  replay: 'downloads depth history from a server into a file',
  export: 'writes depth as Parquet files for other programs',
  sql: 'runs a query over an export',
  mcp: 'lets assistants ask a running server (Model Context Protocol)',
  'keys create': 'creates an API key',
  'keys list': 'lists the API keys',
  'keys update': "changes a key's name, plan, limits or expiry",
  'keys rotate': "replaces a key's text",
  'keys revoke': 'revokes a key',
  usage: 'prints the calls of every key in a month',
  queue: 'lists the tokens that wait for data',
  'cluster status': 'lists the nodes of a cluster',
  'cluster set': 'changes settings of a cluster',
  'cluster trim': "frees old entries of a cluster's log",
  'cluster leave': 'turns a stopped node into a single server',
  demo: 'fills a data directory with a simulated market',
  completion: 'prints a script with which a shell completes commands and flags',
};
export const COMMAND_NAMES = Object.keys(SUMMARIES);

export const FAILED = 1;
const WRONG_USAGE = 2;
/** The cluster's log has the change, or may have it, but this node has not applied it yet. */
const PENDING = 3;

/**
 * A command by its name. A command of a group is exported by its action, any other as `command`. Its module is loaded
 * on demand: most commands need little of the program.
 */
export async function loadCommand(name: string): Promise<Command> {
  const [first, action = 'command'] = name.split(' ');
  if (SERVERS.includes(first)) checkDescriptors();
  const module = (await import(`./commands/${first}.js`)) as Readonly<Record<string, Command>>;
  return module[action];
}

/** A command with its name, of one word or two. */
export interface NamedCommand {
  readonly name: string;
  readonly summary: string;
  readonly command: Command;
}

export function loadAll(): Promise<NamedCommand[]> {
  return Promise.all(
    Object.entries(SUMMARIES).map(async ([name, summary]) => ({
      name,
      summary,
      command: await loadCommand(name),
    })),
  );
}

/** Runs a command. @returns the exit status */
export async function runCommand(given: readonly string[]): Promise<number> {
  const [first] = given;
  if (first === undefined) {
    printNote(allCommands());
    return WRONG_USAGE;
  }
  if (first === '--version' || first === '-V') {
    printLine(BUILD);
    return 0;
  }
  let name = '';
  try {
    if (first === 'help' || HELP_FLAGS.includes(first)) {
      printLine(await helpOn(given.slice(1).filter((word) => !HELP_FLAGS.includes(word))));
      return 0;
    }
    const called = calledName(given);
    const { flags } = called === null ? NO_COMMAND : await loadCommand(called);
    if (asksForHelp(given, flags)) {
      printLine(await helpOn(given.filter((word) => !word.startsWith('-'))));
      return 0;
    }
    // Until the action is known, an error names the group.
    name = actionsOf(first).length > 0 ? first : '';
    name = commandName(given);
    const command = await loadCommand(name);
    if (!SERVERS.includes(name)) await warnOfVariables(command);
    await command.run(given.slice(name.split(' ').length));
    return 0;
  } catch (error) {
    return report(error, name, given.includes('--json'));
  }
}

async function warnOfVariables({ flags }: Command): Promise<void> {
  for (const text of await unknownVariables(flags)) printNote(`warning: ${text}`);
}

const NO_COMMAND = { flags: {} };

/** The name of the command that the words call, of one word or two; null if there is none. */
function calledName([first, second]: readonly string[]): string | null {
  const names = [`${first} ${second}`, first];
  return names.find((name) => Object.hasOwn(SUMMARIES, name)) ?? null;
}

/** As calledName(). @throws UsageError if there is none */
function commandName(given: readonly string[]): string {
  const [first, second] = given;
  const called = calledName(given);
  if (called !== null) return called;
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
  return commandHelp(name, await loadCommand(name), process.stdout.columns);
}

function allCommands(prefix = ''): string {
  const listed = Object.entries(SUMMARIES).filter(([name]) => name.startsWith(prefix));
  return overview(Object.fromEntries(listed), VERSION, process.stdout.columns);
}

/** Reports a failure on stderr, and with `--json` on stdout, too. @returns the exit status */
function report(error: unknown, name: string, wantsJson: boolean): number {
  if (wantsJson) printJson(failureDocument(error));
  const cause = error instanceof PartlyDone ? error.cause : error;
  if (cause instanceof UsageError) {
    printNote(`fathom: ${cause.message}\n${`See fathom help ${name}`.trim()}`);
    return WRONG_USAGE;
  }
  printNote(failureText(cause));
  return cause instanceof PendingError ? PENDING : FAILED;
}
