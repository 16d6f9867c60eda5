#!/usr/bin/env node
/** The `fathom` command. Exit status: 0 done, 1 failed and nothing half-done, 2 wrong usage. */
import { UsageError } from '../../storage/errors.js';
import { DEMO_USAGE, demo } from './commands/demo.js';
import { IMPORT_USAGE, importFiles } from './commands/import.js';
import { INGEST_USAGE, ingest } from './commands/ingest.js';
import { KEYS_USAGE, keys } from './commands/keys.js';
import { QUEUE_USAGE, queue } from './commands/queue.js';
import { REPLAY_USAGE, replay } from './commands/replay.js';
import { SERVE_USAGE, serve } from './commands/serve.js';
import { START_USAGE, start } from './commands/start.js';
import { PartlyDone, failureDocument, failureText } from './failure.js';
import { printJson, printLine, tell, tolerateClosedPipes } from './output.js';

interface Command {
  usage: string;
  run: (words: readonly string[]) => Promise<void>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { usage: SERVE_USAGE, run: serve },
  ingest: { usage: INGEST_USAGE, run: ingest },
  keys: { usage: KEYS_USAGE, run: keys },
  queue: { usage: QUEUE_USAGE, run: queue },
  import: { usage: IMPORT_USAGE, run: importFiles },
  replay: { usage: REPLAY_USAGE, run: replay },
  demo: { usage: DEMO_USAGE, run: demo },
  start: { usage: START_USAGE, run: start },
};

const FAILED = 1;
const WRONG_USAGE = 2;

async function main(words: readonly string[]): Promise<number> {
  const [name, ...rest] = words;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    const text = Object.values(COMMANDS)
      .map(({ usage }) => usage)
      .join('\n');
    if (name === undefined) tell(text);
    else printLine(text);
    return name === undefined ? WRONG_USAGE : 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    tell(`fathom: unknown command ${name}; expected one of ${Object.keys(COMMANDS).join(', ')}`);
    return WRONG_USAGE;
  }
  if (rest.includes('--help') || rest.includes('-h')) {
    printLine(command.usage);
    return 0;
  }
  try {
    await command.run(rest);
    return 0;
  } catch (error) {
    return report(error, command, rest.includes('--json'));
  }
}

/** Says what went wrong, to people and, where they asked for it, to programs. */
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

/** What nobody waited for: one line like any other failure. */
function endAtOnce(error: unknown): void {
  tell(failureText(error));
  process.exit(FAILED);
}

process.on('uncaughtException', endAtOnce);
process.on('unhandledRejection', endAtOnce);
tolerateClosedPipes();
process.exitCode = await main(process.argv.slice(2));
