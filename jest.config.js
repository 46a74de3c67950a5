// As in containers: `pg` converts dates to the local time of the process.
process.env.TZ = 'UTC';

/** Tests of what only a server, a browser or a tool can show need one: the variables that lead to them, by folder. */
const needs = {
  postgresql: ['TEST_DATABASE_URL'],
  cluster: ['TEST_DATABASE_URL', 'TEST_REDIS_URL'],
  browser: ['TEST_BROWSER'],
  deploy: ['TEST_KUBECTL'],
  generators: ['TEST_GENERATORS'],
  guide: ['TEST_GUIDE', 'TEST_DATABASE_URL'],
  observability: ['TEST_PROMETHEUS'],
};

const missing = Object.entries(needs)
  .filter(([, names]) => names.some((name) => !process.env[name]))
  .map(([folder]) => folder);

const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env;

/** For the two cores of the CI: tests wait for half of their time. But what servers do beside them is not to be disturbed. */
const workers = TEST_REDIS_URL ? 2 : TEST_DATABASE_URL ? 3 : 6;

/** @type {import('jest').Config} */
export default {
  testEnvironment: '<rootDir>/test/support/environment.js',
  runtime: '<rootDir>/test/support/runtime.js',
  testMatch: ['<rootDir>/{src,tools,clients}/**/*.spec.ts', '<rootDir>/test/**/*.e2e-spec.ts'],
  testPathIgnorePatterns: missing.map((folder) => `<rootDir>/test/${folder}/`),
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2024',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
        module: { type: 'es6' },
      },
    ],
  },
  testSequencer: '<rootDir>/test/support/sequencer.js',
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
  testTimeout: 240_000,
  maxWorkers: workers,
};
