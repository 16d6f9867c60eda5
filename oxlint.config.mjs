import { defineConfig } from 'oxlint';

/** Modules, and the packages that only they may import. */
const wrappers = {
  'collect/socket.ts': ['ws'],
  'compute/{pool,outcome}.ts': ['piscina'],
  'compute/messagepack.ts': ['msgpackr'],
  'compute/segment/lz4.ts': ['lz4-napi'],
  'server/assistants/{mcp-server,stdio,http}.ts': [
    '@modelcontextprotocol/server',
    '@modelcontextprotocol/server/stdio',
  ],
  'server/http/node-socket.ts': ['ws'],
  'server/http/uws{,-exchange,-socket}.ts': ['uWebSockets.js'],
  'server/logger.ts': ['pino', 'pino-pretty'],
  'server/operations/metrics.ts': ['prom-client'],
  'storage/archive/s3-objects.ts': ['aws4fetch'],
  'storage/duckdb/*.ts': ['@duckdb/node-api'],
  'storage/log/connection.ts': ['@nats-io/transport-node'],
  'storage/log/{jetstream,jetstream-errors,log-reader,parts,presence}.ts': [
    '@nats-io/jetstream',
    '@nats-io/transport-node',
  ],
};
const wrapped = new Set(Object.values(wrappers).flat());

/** What each room may import besides itself; `bench` and `test` may import all. */
const rooms = {
  client: [],
  compute: [],
  storage: ['compute'],
  collect: ['compute', 'storage'],
  demo: ['compute', 'storage'],
  documents: [],
  explorer: ['client'],
  server: ['client', 'collect', 'compute', 'storage', 'demo'],
};
/** Rooms that run in browsers as well. */
const BROWSER_ROOMS = ['client', 'explorer'];

/** @param own packages that may be imported */
const importRules = (patterns = [], own = []) => ({
  'no-restricted-imports': [
    'error',
    {
      paths: [...wrapped]
        .filter((name) => !own.includes(name))
        .map((name) => ({ name, message: `Only ${homesOf(name)} may import ${name}.` })),
      patterns,
    },
  ],
});

function homesOf(name) {
  return Object.keys(wrappers)
    .filter((home) => wrappers[home].includes(name))
    .join(' and ');
}

/** The borders of a room. @param isPure whether to refuse I/O in compute */
function bordersOf(room, isPure = true) {
  const allowed = rooms[room];
  if (allowed === undefined) return [];
  const others = [...Object.keys(rooms), 'bench', 'test'].filter(
    (other) => other !== room && !allowed.includes(other),
  );
  const patterns = [
    {
      regex: `^(\\.\\./)+(${others.join('|')})/`,
      message: `Of the other rooms, ${room} may import ${allowed.join(', ') || 'none'}.`,
    },
  ];
  if (BROWSER_ROOMS.includes(room)) {
    patterns.push({ regex: '^node:', message: `${room} runs in browsers.` });
  }
  if (room === 'compute' && isPure) {
    patterns.push({ regex: '^node:(fs|net|http)', message: 'compute is pure: no I/O.' });
  }
  return patterns;
}

/** Values of any type may be used. */
const untyped = {
  'typescript/no-unsafe-argument': 'off',
  'typescript/no-unsafe-assignment': 'off',
  'typescript/no-unsafe-call': 'off',
  'typescript/no-unsafe-member-access': 'off',
  'typescript/no-unsafe-return': 'off',
};

export default defineConfig({
  // What scripts write stands in folders named generated. AssemblyScript is another language: its compiler checks it.
  ignorePatterns: ['**/dist/', 'data/', 'coverage/', '**/generated/', 'compute/assembly/'],
  plugins: ['eslint', 'typescript', 'import'],
  options: { typeAware: true },
  categories: { correctness: 'error' },
  rules: {
    // `promise.finally(() => another)` waits for the other; only its type says that it does not.
    'typescript/no-misused-promises': ['error', { checksVoidReturn: { arguments: false } }],
    'typescript/no-misused-spread': 'off',
    'typescript/no-useless-default-assignment': 'off',
    'typescript/no-unsafe-argument': 'error',
    'typescript/no-unsafe-assignment': 'error',
    'typescript/no-unsafe-call': 'error',
    'typescript/no-unsafe-enum-comparison': 'error',
    'typescript/no-unsafe-function-type': 'error',
    'typescript/no-unsafe-member-access': 'error',
    'typescript/no-unsafe-return': 'error',
    'typescript/no-unnecessary-type-assertion': 'error',
    'typescript/only-throw-error': 'error',
    'typescript/prefer-promise-reject-errors': 'error',
    'typescript/require-await': 'error',
    'typescript/require-array-sort-compare': 'off',
    'typescript/restrict-plus-operands': 'error',
    'typescript/restrict-template-expressions': 'off',
    'typescript/switch-exhaustiveness-check': [
      'error',
      { considerDefaultExhaustiveForUnions: true },
    ],
    'typescript/ban-ts-comment': 'error',
    'typescript/consistent-type-imports': 'error',
    'typescript/no-explicit-any': 'error',
    'typescript/no-namespace': 'error',
    'typescript/no-require-imports': 'error',
    'import/namespace': 'off',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'no-case-declarations': 'error',
    'no-console': 'error',
    'no-control-regex': 'off',
    'no-empty': 'error',
    'no-fallthrough': 'error',
    'no-prototype-builtins': 'error',
    'no-regex-spaces': 'error',
    'no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    'no-var': 'error',
    'prefer-const': 'error',
    'prefer-rest-params': 'error',
    'prefer-spread': 'error',
    eqeqeq: 'error',
    ...importRules(),
  },
  overrides: [
    ...Object.keys(rooms).map((room) => ({
      files: [`${room}/**/*.{ts,tsx}`],
      rules: importRules(bordersOf(room)),
    })),
    ...Object.entries(wrappers).map(([home, own]) => ({
      files: [home],
      rules: importRules(bordersOf(home.slice(0, home.indexOf('/'))), own),
    })),
    {
      // It reads its own code.
      files: ['compute/web-assembly.ts'],
      rules: importRules(bordersOf('compute', false)),
    },
    { files: ['**/*.mjs'], rules: untyped },
    {
      files: ['.ci/**', 'bench/**', 'examples/**', 'server/bootstrap/**', 'test/**'],
      rules: { 'no-console': 'off' },
    },
    {
      // Tests read foreign decoders' untyped values on purpose.
      files: ['test/**/*.ts'],
      rules: {
        'no-restricted-imports': 'off',
        ...untyped,
      },
    },
  ],
});
