import { statSync } from 'node:fs';

/** Tests of what processes do within fractions of a second: they run beside each other, not beside those that load the machine. */
const TIMED = /\/test\/cluster\/(?:redis-|shared-rate-limit)/;

/** The longest ones: each takes about as long as a fifth of all others. */
const LONGEST = /\/test\/(?:cluster\/fault-matrix|guide\/(?:tutorial|rename))/;

/** Tests that repeat or await something that takes seconds: begun last, they would end long after all others. */
const LONG =
  /\/test\/(?:cli|canary|connections|declared|doctor|durability|failed|generators|issuer|filter-oracle|logging|promises|shutdown|start|tools\/client-package|cluster\/(?:doctor|migrators|proxies|read-replicas|rolling-restart)|postgresql\/(?:client-limits|collector-faults|full-disk|read-replica)|browser\/console)/;

/** @param {string} path */
function rankOf(path) {
  const rank = [TIMED, LONGEST, LONG].findIndex((pattern) => pattern.test(path));
  return rank === -1 ? 3 : rank;
}

/** @typedef {{ path: string }} TestFile */

/** The order in which test files begin: the timed ones, the longest ones, the long ones, then the others, each with the largest first. */
export default class Sequencer {
  /** @param {TestFile[]} tests @returns {TestFile[]} */
  sort(tests) {
    const ranked = tests.map((test) => ({ test, rank: rankOf(test.path), size: statSync(test.path).size }));
    ranked.sort((a, b) => a.rank - b.rank || b.size - a.size);
    return ranked.map(({ test }) => test);
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
