#!/usr/bin/env node
/** Entry point of the `fathom` command. */
import { FAILED, runCommand } from './commands.js';
import { endWithoutReader, reportCrash, tolerateOutputErrors } from './output.js';

function endAtOnce(error: unknown): void {
  reportCrash(error);
  process.exit(FAILED);
}

process.on('uncaughtException', endAtOnce);
process.on('unhandledRejection', endAtOnce);
tolerateOutputErrors();
process.exitCode = await runCommand(process.argv.slice(2));
endWithoutReader();
