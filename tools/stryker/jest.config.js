import config from '../../jest.config.js';

/** @type {import('jest').Config} */
export default {
  ...config,
  rootDir: process.cwd(),
  roots: ['<rootDir>/src'],
  testMatch: [`<rootDir>/${process.env.MUTATION_TESTS}`],
  // Stryker extends it, and does not know <rootDir>.
  testEnvironment: `${process.cwd()}/test/support/environment.js`,
  globalSetup: undefined,
  globalTeardown: undefined,
};
