#!/usr/bin/env node
/** Entry point of the `fathom` command. */
import { FAILED, runCommand } from './commands.js';
import { endWithoutReader, failureText, tell, tolerateOutputErrors } from './output.js';

/** Reports a failure that nobody caught, with its stack: it is a fault of the program. */
function endAtOnce(error: unknown): void {
  tell(failureText(error));
  if (error instanceof Error && error.stack !== undefined) tell(error.stack);
  process.exit(FAILED);
}

process.on('uncaughtException', endAtOnce);
process.on('unhandledRejection', endAtOnce);
tolerateOutputErrors();
process.exitCode = await runCommand(process.argv.slice(2));
endWithoutReader();
