import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { FailureBudget } from './failure-budget.js';

const BURST = 5;

let clock: number;
let made: number;
let reports: unknown[];
let budget: FailureBudget;

beforeEach(() => {
  [clock, made, reports] = [0, 0, []];
  jest.spyOn(performance, 'now').mockImplementation(() => clock);
  jest.spyOn(Logger.prototype, 'log').mockImplementation((line: { actor: string }) => reports.push(line.actor));
  budget = new FailureBudget(BURST, 2);
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** Makes attempts at once. @returns the outcome of each, undefined where it is refused */
function attempt(count: number, outcome: 'good' | 'bad' | 'error', ...networks: string[]): Promise<(string | undefined)[]> {
  const make = async () => {
    made += 1;
    await delay(1);
    return outcome === 'error' ? Promise.reject(new Error('away')) : outcome;
  };
  const one = () => budget.attempt(networks, make, (result) => result === 'bad').catch(() => 'error');
  return Promise.all(Array.from({ length: count }, one));
}

it('lets a network fail as often as the burst says, also at once, then at the rate, and reports refusals once a minute', async () => {
  expect(budget.refuses(['a'])).toBe(false);
  expect((await attempt(1000, 'bad', 'a')).filter(Boolean)).toHaveLength(BURST);
  expect([made, budget.refuses(['a']), budget.refuses(['b']), await attempt(1, 'good', 'b')]).toEqual([
    BURST,
    true,
    false,
    ['good'],
  ]);
  expect(reports).toEqual(['a']);
  clock += 500;
  expect((await attempt(10, 'bad', 'a')).filter(Boolean)).toHaveLength(1);
  clock += 3_600_000;
  expect((await attempt(100, 'bad', 'a')).filter(Boolean)).toHaveLength(BURST);
  expect(reports).toEqual(['a', 'a']);
});

it('lets a /48 fail ten times as often as a /64 in it', async () => {
  for (let number = 0; number < 20; number += 1) await attempt(10, 'bad', `2001:db8:1:${number}::/64`, '2001:db8:1::/48');
  expect([made, budget.refuses(['2001:db8:1:99::/64', '2001:db8:1::/48'])]).toEqual([10 * BURST, true]);
  expect(await attempt(1, 'bad', '2001:db8:2:1::/64', '2001:db8:2::/48')).toEqual(['bad']);
});

it('refuses no good attempt for the number of others, or for failures that leave something', async () => {
  expect(new Set(await attempt(500, 'good', 'a'))).toEqual(new Set(['good']));
  const outcomes = await Promise.all([attempt(BURST - 1, 'bad', 'a'), attempt(20, 'good', 'a')]);
  expect(new Set(outcomes[1])).toEqual(new Set(['good']));
});

it('passes an error on to those that wait, and counts it as no failure', async () => {
  expect(new Set(await attempt(20, 'error', 'a'))).toEqual(new Set(['error']));
  expect([made, (await attempt(20, 'bad', 'a')).filter(Boolean).length]).toEqual([BURST, BURST]);
});

it('keeps none of a flood waiting for what the rate gives back', async () => {
  const ends: ((outcome: string) => void)[] = [];
  const make = () => new Promise<string>((resolve) => ends.push(resolve));
  const refused: unknown[] = [];
  for (let count = 0; count < 100; count += 1) {
    void budget.attempt(['a'], make, () => true).then((outcome) => outcome ?? refused.push(outcome));
  }
  // With each failure, another attempt begins.
  for (let failures = 0; failures < BURST; failures += 1) {
    clock += 500;
    ends.shift()?.('bad');
    await delay(1);
  }
  expect([ends.length, refused.length]).toEqual([BURST, 100 - 2 * BURST]);
});
