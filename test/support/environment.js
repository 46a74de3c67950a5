import performanceHooks, { PerformanceObserver } from 'node:perf_hooks';
import { TestEnvironment } from 'jest-environment-node';
import { compilePackagesOnce, forgetImporters } from './compile-once.js';

compilePackagesOnce();

/** @type {Set<PerformanceObserver>} */
const observing = new Set();

performanceHooks.PerformanceObserver = class extends PerformanceObserver {
  /** @param {import('node:perf_hooks').PerformanceObserverInit} options */
  observe(options) {
    observing.add(this);
    super.observe(options);
  }
};

/** Node's environment, without what would keep the modules of each test file in memory until the end of the run. */
export default class Environment extends TestEnvironment {
  async teardown() {
    // prom-client never disconnects the ones with which it observes garbage collections.
    for (const observer of observing) observer.disconnect();
    observing.clear();
    forgetImporters();
    await super.teardown();
  }
}
