import tseslint from 'typescript-eslint';

/** Packages that exactly one module, or the modules of one folder, may import: where they are. */
const wrapped = {
  ws: '{server/http/node-http,bench/live/main}.ts',
  'uWebSockets.js': 'server/http/uws.ts',
  '@duckdb/node-api': 'storage/duckdb/*.ts',
  'lz4-napi': 'compute/segment/lz4.ts',
  '@nats-io/transport-node': 'storage/log/{connection,consumer,jetstream,reports}.ts',
  '@nats-io/jetstream':
    'storage/log/{consumer,jetstream,jetstream-errors,large-bundles,reports}.ts',
  '@nats-io/obj': 'storage/log/large-bundles.ts',
  piscina: 'compute/{pool,outcome}.ts',
  pino: 'server/log.ts',
  'pino-pretty': 'server/log.ts',
};

const CLOCKS =
  'Intervals and deadlines take performance.now(); the time of day comes from storage/wall-clock.ts.';
/** Nothing but one module asks the system for the time of day. */
const clockRules = {
  'no-restricted-syntax': [
    'error',
    { selector: "MemberExpression[object.name='Date'][property.name='now']", message: CLOCKS },
    { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: CLOCKS },
    { selector: "CallExpression[callee.name='Date']", message: CLOCKS },
  ],
};

/** What each room may import besides itself; `bench` and `test` may import all. */
const rooms = {
  client: [],
  compute: [],
  storage: ['compute'],
  demo: ['compute', 'storage'],
  explorer: ['client'],
  server: ['client', 'compute', 'storage', 'demo'],
};
/** Rooms that run in browsers as well. */
const BROWSER_ROOMS = ['client', 'explorer'];

const importRules = (patterns = []) => ({
  'no-restricted-imports': [
    'error',
    {
      paths: Object.entries(wrapped).map(([name, home]) => ({
        name,
        message: `Only ${home} may import ${name}.`,
      })),
      patterns,
    },
  ],
});

/** The borders of a room. */
function bordersOf([room, allowed]) {
  const within = [room, ...allowed];
  const patterns = [
    {
      regex: `^(\\.\\./)+(?!${within.join('/|')}/)(${[...Object.keys(rooms), 'bench', 'test'].join('|')})/`,
      message: `Of the other rooms, ${room} may import ${allowed.join(', ') || 'none'}.`,
    },
  ];
  if (BROWSER_ROOMS.includes(room)) {
    patterns.push({ group: ['node:*'], message: `${room} runs in browsers.` });
  }
  if (room === 'compute') {
    const group = ['node:fs*', 'node:net', 'node:http*'];
    patterns.push({ group, message: 'compute is pure: no I/O.' });
  }
  return { files: [`${room}/**/*.{ts,tsx}`], rules: importRules(patterns) };
}

export default tseslint.config(
  // What scripts write stands in folders named generated.
  { ignores: ['**/dist/', 'node_modules/', 'data/', 'coverage/', '**/generated/'] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './explorer/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': 'off',
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  { files: ['**/*.{ts,tsx}'], rules: importRules() },
  {
    files: ['{compute,storage,demo,server,bench}/**/*.{ts,mjs}'],
    ignores: ['storage/wall-clock.ts'],
    rules: clockRules,
  },
  ...Object.entries(rooms).map(bordersOf),
  { files: Object.values(wrapped), rules: { 'no-restricted-imports': 'off' } },
  { files: ['**/*.js', '**/*.mjs'], extends: [tseslint.configs.disableTypeChecked] },
  { files: ['bench/**', 'server/bootstrap/**', 'test/**'], rules: { 'no-console': 'off' } },
  {
    // Tests read foreign decoders' untyped values on purpose.
    files: ['test/**/*.ts'],
    rules: {
      'no-restricted-imports': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
    },
  },
);
