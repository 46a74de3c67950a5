import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { FailureBudget } from './failure-budget.js';

const BURST = 5;

let clock: number;
let reports: unknown[];
let budget: FailureBudget;

beforeEach(() => {
  [clock, reports] = [1000, []];
  jest.spyOn(performance, 'now').mockImplementation(() => clock);
  jest.spyOn(Logger.prototype, 'log').mockImplementation((line: { actor: string }) => reports.push(line.actor));
  budget = new FailureBudget(BURST, 2);
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** Fails until the budget is spent, a thousand times at most. @returns the number of failures */
function fail(address: string): number {
  let failures = 0;
  while (failures < 1000 && !budget.isSpent(address)) {
    budget.spend(address);
    failures += 1;
  }
  return failures;
}

it('allows a burst of failures, then failures at the rate, and reports refusals once a minute', () => {
  expect([fail('192.0.2.1'), fail('192.0.2.1'), fail('192.0.2.2')]).toEqual([BURST, 0, BURST]);
  clock += 500;
  expect(fail('192.0.2.1')).toBe(1);
  expect(reports).toEqual(['192.0.2.1', '192.0.2.2']);
  clock += 3_600_000;
  expect(fail('192.0.2.1')).toBe(BURST);
  expect(reports).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.1']);
});

it('compensates for concurrent failures', () => {
  for (let count = 0; count < BURST + 10; count += 1) budget.spend('192.0.2.1');
  clock += 5000;
  expect(fail('192.0.2.1')).toBe(0);
  clock += 500;
  expect(fail('192.0.2.1')).toBe(1);
});

it('counts by /64, and allows a /48 ten times as many failures', () => {
  expect([fail('2001:db8:1:2::1'), fail('2001:db8:1:2:ffff::')]).toEqual([BURST, 0]);
  for (let number = 0; number < 20; number += 1) fail(`2001:db8:2:${number}::1`);
  expect([fail('2001:db8:2:99::1'), fail('2001:db8:3:99::1')]).toEqual([0, BURST]);
  expect(reports).toEqual(expect.arrayContaining(['2001:db8:1:2::/64', '2001:db8:2::/48']));
});
