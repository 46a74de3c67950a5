import { statSync } from 'node:fs';

/** Tests of what processes do within fractions of a second: they run beside each other, not beside those that load the machine. */
const TIMED = /\/test\/cluster\/(?:redis-|shared-rate-limit)/;

/** Tests that repeat or await something that takes seconds: begun last, they would end long after all others. */
const LONG =
  /\/test\/(?:cli|canary|durability|filter-oracle|start|tools\/generate|cluster\/(?:doctor|migrators|rolling-restart)|postgresql\/(?:client-limits|collector-faults|issuer-keys)|browser\/console)/;

/** @typedef {{ path: string }} TestFile */

/** @param {TestFile} test */
function rankOf({ path }) {
  if (TIMED.test(path)) {
    return 0;
  }
  return LONG.test(path) ? 1 : 2;
}

/** The order in which test files begin: the timed ones, the long ones, then the others, each with the largest first. */
export default class Sequencer {
  /** @param {TestFile[]} tests @returns {TestFile[]} */
  sort(tests) {
    const sizes = new Map(tests.map(({ path }) => [path, statSync(path).size]));
    const sizeOf = (/** @type {TestFile} */ { path }) => sizes.get(path) ?? 0;
    const sorted = Array.from(tests);
    sorted.sort((a, b) => rankOf(a) - rankOf(b) || sizeOf(b) - sizeOf(a));
    return sorted;
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
    // Sizes are enough.
  }
}
