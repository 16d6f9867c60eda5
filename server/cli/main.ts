#!/usr/bin/env node
/** The `fathom` command. Exit status: 0 done, 1 failed and nothing half-done, 2 wrong usage. */
import { InputError, StoreBusyError, StoreChangedError, UsageError } from '../../storage/errors.js';
import { DEMO_USAGE, demo } from './commands/demo.js';
import { IMPORT_USAGE, importFiles } from './commands/import.js';
import { INGEST_USAGE, ingest } from './commands/ingest.js';
import { KEYS_USAGE, keys } from './commands/keys.js';
import { SERVE_USAGE, serve } from './commands/serve.js';
import { START_USAGE, start } from './commands/start.js';
import { printLine, tell } from './output.js';

interface Command {
  usage: string;
  run: (words: readonly string[]) => Promise<void>;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  serve: { usage: SERVE_USAGE, run: serve },
  ingest: { usage: INGEST_USAGE, run: ingest },
  keys: { usage: KEYS_USAGE, run: keys },
  import: { usage: IMPORT_USAGE, run: importFiles },
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
    return report(error, command);
  }
}

/** Says what went wrong in the words of whoever called. */
function report(error: unknown, command: Command): number {
  if (error instanceof UsageError) {
    tell(`fathom: ${error.message}\nusage: ${command.usage}`);
    return WRONG_USAGE;
  }
  const expected =
    error instanceof InputError ||
    error instanceof StoreBusyError ||
    error instanceof StoreChangedError;
  if (expected) tell(error.message);
  else tell(`fathom: ${unexpectedText(error)}`);
  return FAILED;
}

/** One line for a failure that nothing names better; FATHOM_DEBUG=1 shows where it came from. */
function unexpectedText(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  if (process.env.FATHOM_DEBUG === '1') return error.stack ?? error.message;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC') return 'the disk is full';
  if (code === 'EACCES' || code === 'EROFS') return `no permission: ${error.message}`;
  return error.message.split('\n')[0];
}

process.exitCode = await main(process.argv.slice(2));
