import config from '../../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...config,
  rootDir: process.cwd(),
  roots: ['<rootDir>/src'],
  testMatch: [`<rootDir>/${process.env.MUTATION_TESTS}`],
  // The files that are mutated, instead of what `npm run build` made of them.
  moduleNameMapper: { ...config.moduleNameMapper, '^#service/(.*)$': '<rootDir>/src/$1.ts' },
  // Without Nest, which takes longer to load than most of these tests.
  setupFiles: ['reflect-metadata'],
  // Stryker has its own, around this one.
  testEnvironment: 'node',
  runtime: undefined,
  extensionsToTreatAsEsm: ['.ts'],
  globalSetup: undefined,
  globalTeardown: undefined,
};
