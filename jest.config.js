/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/test/**/*.e2e-spec.ts'],
  // What only a PostgreSQL server, or a browser, can show needs one.
  testPathIgnorePatterns: [
    ...(process.env.TEST_DATABASE_URL ? [] : ['<rootDir>/test/postgresql/']),
    ...(process.env.TEST_BROWSER ? [] : ['<rootDir>/test/browser/']),
  ],
  extensionsToTreatAsEsm: ['.ts'],
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
  setupFiles: ['<rootDir>/test/support/setup.js'],
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
  testTimeout: 120_000,
  maxWorkers: 2,
};
