#!/usr/bin/env node
/** Entry point of the `fathom` command. */
import { endAtSignal, SERVERS } from './signals.js';

// Loading the rest takes most of a start.
if (SERVERS.includes(process.argv[2])) endAtSignal();
const { FAILED, runCommand } = await import('./commands.js');
const { endWithoutReader, reportCrash, tolerateOutputErrors } = await import('./output.js');

function endAtOnce(error: unknown): void {
  reportCrash(error);
  process.exit(FAILED);
}

process.on('uncaughtException', endAtOnce);
process.on('unhandledRejection', endAtOnce);
tolerateOutputErrors(FAILED);
const status = await runCommand(process.argv.slice(2));
process.exitCode = status || process.exitCode;
endWithoutReader();
