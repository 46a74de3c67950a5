import performanceHooks, { PerformanceObserver } from 'node:perf_hooks';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

/** @type {Set<PerformanceObserver>} */
const observing = new Set();

performanceHooks.PerformanceObserver = class extends PerformanceObserver {
  /** @param {import('node:perf_hooks').PerformanceObserverInit} options */
  observe(options) {
    observing.add(this);
    super.observe(options);
  }
};

/** The process of the worker, as tests find it. What a test file changes in it, the next one finds as it was. */
export default class Environment {
  global = globalThis;
  fakeTimers = null;
  moduleMocker = new ModuleMocker(globalThis);
  variables = { ...process.env };
  exit = Object.getOwnPropertyDescriptor(process, 'exit') ?? {};
  console = globalThis.console;

  /** @param {import('@jest/environment').JestEnvironmentConfig} configuration */
  constructor({ projectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  getVmContext() {
    return null;
  }

  exportConditions() {
    return [];
  }

  setup() {
    return Promise.resolve();
  }

  teardown() {
    // prom-client never disconnects the ones with which it observes garbage collections.
    for (const observer of observing) observer.disconnect();
    observing.clear();
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    for (const name of Object.keys(process.env)) if (!(name in this.variables)) delete process.env[name];
    Object.assign(process.env, this.variables);
    Object.defineProperty(process, 'exit', this.exit);
    globalThis.console = this.console;
    // What Jest keeps of a test file.
    for (const name of ['EVENT_HANDLERS', 'TEST_TIMEOUT_SYMBOL']) Reflect.deleteProperty(globalThis, Symbol.for(name));
    return Promise.resolve();
  }
}
