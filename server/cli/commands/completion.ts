/**
 * `fathom completion SHELL`: a script with which the shell completes commands, flags and their values. A table,
 * generated from the commands' declarations, has the completions of each place; code finds the place from the words
 * before the cursor.
 */
import { shellWord } from '../../../storage/shell-word.js';
import { defineCommand } from '../command.js';
import { loadAll, type NamedCommand } from '../commands.js';
import { isSwitch } from '../flags.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];
/** Longer descriptions are cut off. */
const MAX_DESCRIPTION_CHARS = 70;

/** The completions of a place: words with their descriptions, or file names. */
interface Choice {
  /** The command, then the flag whose value is completed, `-` for a flag, or the number of the word. */
  readonly place: string;
  readonly offers: readonly (readonly [string, string])[] | 'file' | 'directory';
}

export const command = defineCommand({
  about:
    'Prints a script with which a shell completes commands, flags, and values such as datasets and formats. bash and zsh source it; fish reads it from its folder of completions.',
  words: { shell: { values: SHELLS } },
  flags: {},
  examples: [
    'fathom completion bash > ~/.local/share/bash-completion/completions/fathom',
    'source <(fathom completion zsh)',
    'fathom completion fish > ~/.config/fish/completions/fathom.fish',
  ],
  run: async (_, { shell }) => {
    process.stdout.write(completionScript(shell, await loadAll()));
  },
});

/** The script that a shell sources. */
function completionScript(shell: Shell, commands: readonly NamedCommand[]): string {
  const flags = commands.flatMap(({ command }) => Object.entries(command.flags));
  const valued = flags.flatMap(([name, flag]) => (isSwitch(flag) ? [] : [`--${name}`]));
  const groups = commands.flatMap(({ name }) => (name.includes(' ') ? [name.split(' ')[0]] : []));
  const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
  return scripts[shell](choicesOf(commands), [...new Set(valued)], [...new Set(groups)]);
}

function choicesOf(commands: readonly NamedCommand[]): Choice[] {
  const first = new Map<string, string>();
  const actions = new Map<string, [string, string][]>();
  for (const { name, summary } of commands) {
    const [word, action] = name.split(' ') as [string, string | undefined];
    if (action !== undefined) actions.set(word, [...(actions.get(word) ?? []), [action, summary]]);
    const listed = actions.get(word)?.map(([known]) => known);
    first.set(word, listed === undefined ? summary : listed.join(', '));
  }
  return [
    { place: '0', offers: [...first, ['help', 'shows how to use a command']] },
    { place: '-', offers: offered(['--help', '--version']) },
    ...[...actions].map(([word, offers]) => ({ place: `${word} 0`, offers })),
    ...commands.flatMap(choicesOfCommand),
  ];
}

function choicesOfCommand({ name, command }: NamedCommand): Choice[] {
  const flags = Object.entries(command.flags);
  const choices: Choice[] = [
    {
      place: `${name} -`,
      offers: flags.map(([flag, { meaning }]) => [`--${flag}`, described(meaning)]),
    },
  ];
  for (const [flag, { values, names }] of flags) {
    const offers = values === undefined ? names : offered(values);
    if (offers !== undefined) choices.push({ place: `${name} --${flag}`, offers });
  }
  for (const [i, { values, names, repeated }] of Object.values(command.words).entries()) {
    const offers = values === undefined ? names : offered(values);
    const place = `${name} ${repeated === true ? '*' : i}`;
    if (offers !== undefined) choices.push({ place, offers });
  }
  return choices;
}

function offered(values: readonly string[]) {
  return values.map((value) => [value, ''] as const);
}

function described(meaning: string): string {
  const plain = meaning.replaceAll('`', '');
  const tooLong = plain.length > MAX_DESCRIPTION_CHARS;
  return tooLong ? `${plain.slice(0, MAX_DESCRIPTION_CHARS - 1)}…` : plain;
}

/** A pattern of a place; the `*` of a repeated word stands for any number. */
function pattern(place: string): string {
  return place.endsWith('*') ? `${shellWord(place.slice(0, -1))}*` : shellWord(place);
}

function bashScript(choices: readonly Choice[], valued: string[], groups: string[]): string {
  // The shell's own completion handles file names.
  const cases = choices.flatMap(({ place, offers }) =>
    typeof offers === 'string'
      ? []
      : [`    ${shellWord(place)}) offers=${shellWord(offers.map(([word]) => word).join(' '))} ;;`],
  );
  return `# Completes fathom in bash.
_fathom() {
  local cur=\${COMP_WORDS[COMP_CWORD]} name='' count=0 flag='' place offers='' word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    # bash treats = and : within a word as separate words.
    if [[ $word == [=:] || \${COMP_WORDS[i - 1]} == : ]]; then continue
    elif [[ $flag ]]; then flag=''
    elif [[ ${shellWord(` ${valued.join(' ')} `)} == *" $word "* ]]; then flag=$word
    elif [[ $word == -* || $word == help ]]; then continue
    elif [[ ! $name ]]; then name=$word
    elif [[ ${shellWord(` ${groups.join(' ')} `)} == *" $name "* ]]; then name+=" $word"
    else ((count++))
    fi
  done
  [[ $cur == = ]] && cur=''
  if [[ $flag ]]; then place=$flag; elif [[ $cur == -* ]]; then place=-; else place=$count; fi
  case "\${name:+$name }$place" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$offers" -- "$cur"))
}
complete -o default -F _fathom fathom
`;
}

function zshScript(choices: readonly Choice[], valued: string[], groups: string[]): string {
  const cases = choices.map(({ place, offers }) => {
    if (offers === 'file') return `    ${pattern(place)}) _files ;;`;
    if (offers === 'directory') return `    ${pattern(place)}) _files -/ ;;`;
    const words = offers.map(([word, text]) => shellWord(text === '' ? word : `${word}:${text}`));
    return `    ${pattern(place)}) offers=(${words.join(' ')}); _describe value offers ;;`;
  });
  return `#compdef fathom
# Completes fathom in zsh.
_fathom() {
  local name='' count=0 flag='' place word
  local -a offers
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ -n $flag ]]; then flag=''
    elif [[ ${shellWord(` ${valued.join(' ')} `)} == *" $word "* ]]; then flag=$word
    elif [[ $word == -* || $word == help ]]; then continue
    elif [[ -z $name ]]; then name=$word
    elif [[ ${shellWord(` ${groups.join(' ')} `)} == *" $name "* ]]; then name+=" $word"
    else ((count++))
    fi
  done
  word=$words[CURRENT]
  if [[ -z $flag && $word == --*=* ]]; then flag=\${word%%=*}; compset -P '*='; fi
  if [[ -n $flag ]]; then place=$flag; elif [[ $word == -* ]]; then place=-; else place=$count; fi
  case "\${name:+$name }$place" in
${cases.join('\n')}
  esac
}
if [[ $funcstack[1] == _fathom ]]; then _fathom "$@"; else compdef _fathom fathom; fi
`;
}

function fishScript(choices: readonly Choice[], valued: string[], groups: string[]): string {
  const fishQuoted = (text: string) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
  const cases = choices.map(({ place, offers }) => {
    const head = `        case ${fishQuoted(place)}\n            `;
    if (offers === 'file') return `${head}__fish_complete_path $cur`;
    if (offers === 'directory') return `${head}__fish_complete_directories $cur ''`;
    const words = offers.flatMap((offer) => offer.map(fishQuoted));
    return `${head}printf $prefix'%s\\t%s\\n' ${words.join(' ')}`;
  });
  return `# Completes fathom in fish.
function __fathom_choices
    set -l cur (commandline -ct)
    set -l name
    set -l count 0
    set -l flag
    set -l prefix ''
    for word in (commandline -opc)[2..-1]
        if test -n "$flag"
            set flag
        else if contains -- $word ${valued.join(' ')}
            set flag $word
        else if string match -qr '^-|^help$' -- $word
            continue
        else if test -z "$name"
            set name $word
        else if contains -- $name ${groups.join(' ')}
            set name "$name $word"
        else
            set count (math $count + 1)
        end
    end
    if test -z "$flag"; and string match -q -- '--*=*' $cur
        set flag (string split -m 1 = -- $cur)[1]
        set prefix "$flag="
    end
    set -l place $count
    if test -n "$flag"
        set place $flag
    else if string match -q -- '-*' $cur
        set place -
    end
    switch (string trim -- "$name $place")
${cases.join('\n')}
    end
end
complete -c fathom -f -a '(__fathom_choices)'
`;
}
