#!/usr/bin/env node
/** Entry point of the `fathom` command. */
import { FAILED, runCommand } from './commands.js';
import { failureText, tell, tolerateClosedPipes } from './output.js';

/** Reports an uncaught failure like any other. */
function endAtOnce(error: unknown): void {
  tell(failureText(error));
  process.exit(FAILED);
}

process.on('uncaughtException', endAtOnce);
process.on('unhandledRejection', endAtOnce);
tolerateClosedPipes();
process.exitCode = await runCommand(process.argv.slice(2));
