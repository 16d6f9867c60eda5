/** `fathom config` */
import { defineCommand } from '../command.js';
import { type Effective, type Setting, settingDocument } from '../effective-settings.js';
import { JSON_OUTPUT } from '../flags.js';
import { printJson, printLine, printTable } from '../output.js';
import { effective } from '../serve-options.js';
import { SERVE_ENVIRONMENT, SERVE_FLAGS, SETTINGS } from '../settings.js';

export const command = defineCommand({
  about:
    'Prints every setting that serve would use with these flags, variables and config file, and where each comes from, or every fault in them.',
  flags: { ...SERVE_FLAGS, json: JSON_OUTPUT },
  environment: SERVE_ENVIRONMENT,
  examples: ['fathom config', 'fathom config --port 8081 --json'],
  run: ({ json, ...flags }) => {
    const { file, settings } = effective(flags);
    const entries = Object.entries<Effective>(settings).map(([name, read]) => {
      const setting = SETTINGS[name as keyof typeof SETTINGS] as Setting;
      return { name, setting, given: read.given, value: settingDocument(setting, read) };
    });
    if (json) {
      const documents = entries.map(({ name, given, value }) => [
        name,
        { value, source: given?.source ?? 'default', from: given?.from ?? null },
      ]);
      printJson({ config_file: file, settings: Object.fromEntries(documents) as object });
      return Promise.resolve();
    }
    printLine(`config file: ${file ?? 'none'}`);
    const rows = entries.map(({ name, setting, given, value }) => [
      name,
      given?.from ?? 'default',
      given === null && isNothing(value) ? (setting.default ?? '') : textOf(value),
    ]);
    printTable(rows);
    return Promise.resolve();
  },
});

function isNothing(value: unknown): boolean {
  return value === null || value === false || (Array.isArray(value) && value.length === 0);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
