#!/usr/bin/env node
/** The `fathom` command as a process. */
import { FAILED, runCommand } from './commands.js';
import { failureText, tell, tolerateClosedPipes } from './output.js';

/** Reports a failure that nothing awaited in one line, like any other. */
function endAtOnce(error: unknown): void {
  tell(failureText(error));
  process.exit(FAILED);
}

process.on('uncaughtException', endAtOnce);
process.on('unhandledRejection', endAtOnce);
tolerateClosedPipes();
process.exitCode = await runCommand(process.argv.slice(2));
