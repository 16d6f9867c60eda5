/** The texts of `fathom help` and `fathom help COMMAND`, generated from the commands' declarations. */
import type { Command } from './command.js';
import type { Flag, Word } from './flags.js';

/** Columns of the text: those of the terminal, if there is one, within these bounds. */
const LEAST_COLUMNS = 80;
const MOST_COLUMNS = 100;
/** Names in a list are padded to at most this. */
const MAX_NAME_CHARS = 28;
/** Variables that stand for flags are listed up to this many. */
const MOST_VARIABLES = 4;

/** The list of commands, with a line for each. */
export function overview(
  summaries: Readonly<Record<string, string>>,
  version: string,
  columns: number | undefined,
): string {
  const width = widthOf(columns);
  return [
    wrap(`fathom ${version}: stores the depth of token markets, and serves it over HTTP`, width),
    'Usage: fathom COMMAND [WORD...] [FLAG...]',
    section('Commands', Object.entries(summaries), width),
    wrap('fathom help COMMAND shows its flags and examples; docs/cli.md has all details.', width),
  ].join('\n\n');
}

/**
 * What a command does, its usage, flags, environment and examples.
 * @param columns of the terminal; undefined: there is none
 */
export function commandHelp(name: string, command: Command, columns: number | undefined): string {
  const width = widthOf(columns);
  const flags = Object.entries(command.flags);
  const environment = [...variablesOf(flags), ...Object.entries(command.environment ?? {})];
  return [
    wrap(command.about, width),
    usageLine(name, command),
    section('Words', Object.entries(command.words).flatMap(wordEntry), width),
    section('Flags', flags.map(flagEntry), width),
    section('Environment', environment, width),
    ['Examples:', ...command.examples.map((one) => exampleText(one, width))].join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** A line a variable, or one for many that are named after their flags. */
function variablesOf(flags: readonly [string, Flag][]): (readonly [string, string])[] {
  const all = flags.flatMap(([flag, { variable }]) =>
    variable === undefined ? [] : [[variable, `stands for --${flag}`] as const],
  );
  const areNamedAlike = flags.every(
    ([flag, { variable }]) =>
      variable === undefined || variable === `FATHOM_${flag.toUpperCase().replaceAll('-', '_')}`,
  );
  if (all.length <= MOST_VARIABLES || !areNamedAlike) return all;
  return [['FATHOM_FLAG', 'stands for --flag: FATHOM_PORT for --port, FATHOM_AS_OF for --as-of']];
}

function usageLine(name: string, { words, flags }: Command): string {
  const needed = Object.entries(flags)
    .filter(([, flag]) => flag.needed === true)
    .map(([flag, { placeholder }]) => `--${flag} ${placeholder}`);
  const parts = [...Object.entries(words).map(wordShape), ...needed];
  const optional = Object.keys(flags).length > needed.length ? ['[FLAG...]'] : [];
  return ['Usage: fathom', name, ...parts, ...optional].join(' ');
}

function wordShape([name, word]: [string, Word]): string {
  const shape = name.toUpperCase() + (word.repeated === true ? '...' : '');
  return word.optional === true ? `[${shape}]` : shape;
}

function wordEntry([name, { values }]: [string, Word]): (readonly [string, string])[] {
  return values === undefined ? [] : [[name.toUpperCase(), values.join(', ')]];
}

function flagEntry([name, flag]: [string, Flag]): readonly [string, string] {
  const shown = flag.default === undefined ? [] : [`default: ${flag.default}`];
  return [flagShape(name, flag), noted(flag.meaning, [...notesOf(flag), ...shown])];
}

/** What docs/cli.md says of a flag: notation, default and meaning. */
export function flagRow(name: string, flag: Flag): readonly [string, string, string] {
  return [flagShape(name, flag), flag.default ?? '', noted(flag.meaning, notesOf(flag))];
}

function flagShape(name: string, { placeholder }: Flag): string {
  return placeholder === undefined ? `--${name}` : `--${name} ${placeholder}`;
}

function notesOf(flag: Flag): string[] {
  return [
    ...(flag.values === undefined ? [] : [flag.values.map(visible).join(', ')]),
    ...(flag.needed === true ? ['needed'] : []),
    ...(flag.repeated === true ? ['may be repeated'] : []),
  ];
}

/** A character alone is not seen among commas. */
const visible = (value: string) => (/^\W$/.test(value) ? `"${value}"` : value);

function noted(text: string, notes: readonly string[]): string {
  return notes.length === 0 ? text : `${text} (${notes.join('; ')})`;
}

function section(
  title: string,
  entries: readonly (readonly [string, string])[],
  width: number,
): string {
  if (entries.length === 0) return '';
  const longest = Math.max(...entries.map(([name]) => name.length));
  const column = Math.min(longest, MAX_NAME_CHARS) + 4;
  const lines = entries.flatMap(([name, text]) => {
    const [first, ...rest] = wrapped(text.replaceAll('`', '').split(' '), width, column);
    const head = `  ${name}`;
    return head.length + 2 > column
      ? [head, first, ...rest]
      : [head.padEnd(column) + first.trimStart(), ...rest];
  });
  return [`${title}:`, ...lines].join('\n');
}

/** An example; if it is too long, it continues on further lines, split before flags. */
function exampleText(example: string, width: number): string {
  const lines = wrapped(example.split(/ (?=--)/), width, 6, ' \\');
  return lines.join('\n').replace(/^ {4}/, '');
}

const widthOf = (columns = MOST_COLUMNS): number =>
  Math.min(Math.max(columns, LEAST_COLUMNS), MOST_COLUMNS);

const wrap = (text: string, width: number): string => wrapped(text.split(' '), width).join('\n');

/** Words in lines of at most `width`, indented; `continued` ends each but the last. */
function wrapped(words: readonly string[], width: number, indent = 0, continued = ''): string[] {
  const room = width - indent - continued.length;
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines.map(
    (line, i) => ' '.repeat(indent) + line + (i < lines.length - 1 ? continued : ''),
  );
}
