import tseslint from 'typescript-eslint';

/** Packages that exactly one module, or the modules of one folder, may import: where they are. */
const wrapped = {
  'uWebSockets.js': 'server/http/uws.ts',
  '@duckdb/node-api': 'storage/duckdb/*.ts',
  'lz4-napi': 'compute/segment/lz4.ts',
  '@nats-io/transport-node': 'storage/log/{connection,jetstream}.ts',
  '@nats-io/jetstream': 'storage/log/jetstream.ts',
  '@nats-io/obj': 'storage/log/jetstream.ts',
  piscina: 'compute/{pool,worker}.ts',
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

const importRules = (extra = []) => ({
  'no-restricted-imports': [
    'error',
    {
      paths: Object.entries(wrapped).map(([name, home]) => ({
        name,
        message: `Only ${home} may import ${name}.`,
      })),
      patterns: extra,
    },
  ],
});

export default tseslint.config(
  // client/api.ts is generated.
  { ignores: ['dist/', 'node_modules/', 'data/', 'coverage/', 'client/api.ts'] },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './tsconfig.explorer.json'],
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
    files: ['{compute,storage,server,bench}/**/*.{ts,mjs}'],
    ignores: ['storage/wall-clock.ts'],
    rules: clockRules,
  },
  {
    files: ['compute/**/*.ts'],
    rules: importRules([
      {
        group: ['**/storage/**', '**/server/**', 'node:fs*', 'node:net', 'node:http*'],
        message: 'compute is pure: no I/O, nothing of storage or server.',
      },
    ]),
  },
  {
    files: ['client/**/*.ts'],
    rules: {
      ...importRules([
        {
          group: ['**/compute/**', '**/storage/**', '**/server/**', 'node:*'],
          message: 'The client runs in browsers, without the server.',
        },
      ]),
      'no-restricted-syntax': 'off',
    },
  },
  {
    files: ['server/explorer/**/*.{ts,tsx}'],
    rules: {
      ...importRules([
        {
          group: ['**/compute/**', '**/storage/**', '**/server/**', 'node:*'],
          message: 'The explorer runs in browsers, with nothing of the server but its API.',
        },
      ]),
      'no-restricted-syntax': 'off',
    },
  },
  {
    files: ['storage/**/*.ts'],
    rules: importRules([
      { group: ['**/server/**'], message: 'storage knows nothing of the server.' },
    ]),
  },
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
