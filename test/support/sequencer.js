import { statSync } from 'node:fs';

/** Tests of what processes do within fractions of a second: they run beside each other, not beside those that load the machine. */
const TIMED = /\/test\/cluster\/(?:redis-|shared-rate-limit)/;

/** @typedef {{ path: string }} TestFile */

/** The order in which test files begin: the timed ones, then the others, each with the largest first. */
export default class Sequencer {
  /** @param {TestFile[]} tests @returns {TestFile[]} */
  sort(tests) {
    const sizes = new Map(tests.map(({ path }) => [path, statSync(path).size]));
    const sizeOf = (/** @type {TestFile} */ { path }) => sizes.get(path) ?? 0;
    const bySize = Array.from(tests);
    bySize.sort((a, b) => sizeOf(b) - sizeOf(a));
    return [...bySize.filter(({ path }) => TIMED.test(path)), ...bySize.filter(({ path }) => !TIMED.test(path))];
  }

  /** @param {TestFile[]} tests @returns {TestFile[]} */
  shard(tests) {
    return tests;
  }

  /** @param {TestFile[]} tests @returns {TestFile[]} */
  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {
    // Sizes tell enough.
  }
}
