/** Runs the commands of `fathom`. Exit status: 0 done, 1 failed, 2 wrong usage. */
import { UsageError } from '../../storage/errors.js';
import { PartlyDone, failureDocument, failureText, printJson, printLine, tell } from './output.js';

interface Command {
  usage: string;
  /** Output of `--help`; default: the usage. */
  help?: string;
  run: (words: readonly string[]) => Promise<void>;
}

/** Modules are loaded on demand, since most commands need little of the program. */
const COMMANDS: Readonly<Record<string, () => Promise<{ command: Command }>>> = {
  serve: () => import('./commands/serve.js'),
  ingest: () => import('./commands/ingest.js'),
  keys: () => import('./commands/keys.js'),
  queue: () => import('./commands/queue.js'),
  import: () => import('./commands/import.js'),
  replay: () => import('./commands/replay.js'),
  demo: () => import('./commands/demo.js'),
  start: () => import('./commands/start.js'),
};

export const FAILED = 1;
const WRONG_USAGE = 2;

/** Runs a command. @returns the exit status */
export async function runCommand(words: readonly string[]): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    const modules = await Promise.all(Object.values(COMMANDS).map((load) => load()));
    const text = modules.map(({ command }) => command.usage).join('\n');
    if (name === undefined) tell(text);
    else printLine(text);
    return name === undefined ? WRONG_USAGE : 0;
  }
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) {
    tell(`fathom: unknown command ${name}; expected one of ${Object.keys(COMMANDS).join(', ')}`);
    return WRONG_USAGE;
  }
  const { command } = await load();
  if (rest.includes('--help') || rest.includes('-h')) {
    printLine(command.help ?? command.usage);
    return 0;
  }
  try {
    await command.run(rest);
    return 0;
  } catch (error) {
    return report(error, command, rest.includes('--json'));
  }
}

/** Reports a failure on stderr, and with `--json` on stdout, too. @returns the exit status */
function report(error: unknown, { usage }: Command, wantsJson: boolean): number {
  if (wantsJson) printJson(failureDocument(error));
  const cause = error instanceof PartlyDone ? error.cause : error;
  if (cause instanceof UsageError) {
    tell(`fathom: ${cause.message}\nusage: ${usage}`);
    return WRONG_USAGE;
  }
  tell(failureText(cause));
  return FAILED;
}
