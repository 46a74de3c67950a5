import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { FailureBudget } from './failure-budget.js';
import type { Verdict } from './principal.js';

const [BURST, RATE] = [5, 2];

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const VALID: Verdict = { principal: { id: '1', familyId: '1', scopes: 'all' } };
const UNKNOWN: Verdict = { refused: 'unknown' };
const SPENT: Verdict = { refused: 'budget' };
const ALL_UNKNOWN = Array.from({ length: BURST }, () => UNKNOWN);

let clock: number;
let reports: unknown[];
let budget: FailureBudget;
let lookUps: ReturnType<typeof Promise.withResolvers<Verdict>>[];

beforeEach(() => {
  [clock, reports, lookUps] = [1000, [], []];
  jest.spyOn(performance, 'now').mockImplementation(() => clock);
  jest.spyOn(Logger.prototype, 'log').mockImplementation((line: { actor: string }) => reports.push(line.actor));
  budget = new FailureBudget(BURST, RATE, 60_000);
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** Starts look-ups, which end when their element of `lookUps` does. */
async function start(count: number, address = '192.0.2.1'): Promise<Promise<Verdict>[]> {
  const lookUp = () => {
    const result = Promise.withResolvers<Verdict>();
    lookUps.push(result);
    return result.promise;
  };
  const verdicts = Array.from({ length: count }, () => budget.run(address, lookUp));
  await turn();
  return verdicts;
}

/** Fails until the budget is spent, a thousand times at most. @returns the number of failures */
async function fail(address = '192.0.2.1'): Promise<number> {
  let failures = 0;
  while (failures < 1000 && (await budget.run(address, () => Promise.resolve(UNKNOWN))) === UNKNOWN) failures += 1;
  return failures;
}

/** Runs a look-up from each of so many networks, one after the other. */
async function runFrom(networks: number, lookUp: () => Promise<Verdict>): Promise<void> {
  for (let network = 0; network < networks; network += 1) {
    await budget.run(`10.0.${network >> 8}.${network & 255}`, lookUp);
  }
}

it('allows a burst of failures, then failures at the rate, and reports refusals once a minute [audit-budget-once] [failures-per-network]', async () => {
  expect([await fail(), await fail(), await fail('192.0.2.2')]).toEqual([BURST, 0, BURST]);
  clock += 500;
  expect(await fail()).toBe(1);
  expect(reports).toEqual(['192.0.2.1', '192.0.2.2']);
  clock += 3_600_000;
  expect(await fail()).toBe(BURST);
  expect(reports).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.1']);
});

it.each(['192.0.2.1', '2001:db8::1'])('of 10,000 failures from %s at once, runs those of the budget', async (address) => {
  const run = jest.fn(() => turn(UNKNOWN));
  const verdicts = await Promise.all(Array.from({ length: 10_000 }, () => budget.run(address, run)));
  expect(run).toHaveBeenCalledTimes(BURST);
  expect(verdicts.filter((verdict) => 'refused' in verdict && verdict.refused === 'budget')).toHaveLength(10_000 - BURST);
  expect(await fail(address)).toBe(0);
});

it('lets valid ones above the budget wait for their turn, and then has all failures left', async () => {
  const verdicts = await start(3 * BURST);
  for (let turns = 1; turns <= 3; turns += 1) {
    expect(lookUps).toHaveLength(turns * BURST);
    for (const { resolve } of lookUps) resolve(VALID);
    await turn();
  }
  expect(new Set(await Promise.all(verdicts))).toEqual(new Set([VALID]));
  expect(await fail()).toBe(BURST);
  expect(reports).toHaveLength(1);
});

it('lets one in for each that was valid, and refuses the others once none can be', async () => {
  const verdicts = await start(BURST + 3);
  for (const each of lookUps.slice(1)) each.resolve(UNKNOWN);
  await turn();
  expect(lookUps).toHaveLength(BURST);
  lookUps[0]?.resolve(VALID);
  await turn();
  expect(lookUps).toHaveLength(BURST + 1);
  lookUps[BURST]?.resolve(UNKNOWN);
  expect(await Promise.all(verdicts)).toEqual([VALID, ...ALL_UNKNOWN, SPENT, SPENT]);
});

it('lets in those that wait in their order, also when time has added failures', async () => {
  await fail();
  clock += 500;
  const [first, second] = await start(2);
  clock += 500;
  const [third] = await start(1);
  expect(lookUps).toHaveLength(2);
  lookUps[1]?.resolve(VALID);
  expect(await second).toBe(VALID);
  lookUps[0]?.resolve(UNKNOWN);
  await turn();
  lookUps[2]?.resolve(VALID);
  expect(await Promise.all([first, third])).toEqual([UNKNOWN, VALID]);
});

it.each([
  ['the credential is valid', (): Promise<Verdict> => Promise.resolve(VALID)],
  ['the keys of the issuer are not available', (): Promise<Verdict> => Promise.resolve({ refused: 'jwt-key' })],
  ['the database is not available', () => Promise.reject(new Error('no database'))],
])('is not used up while %s', async (_name, lookUp) => {
  for (let count = 0; count < 3 * BURST; count += 1) await budget.run('2001:db8::1', lookUp).catch(() => undefined);
  expect(await fail('2001:db8::1')).toBe(BURST);
});

it('has no more failures than the burst after a look-up that took long enough to add its failure again', async () => {
  const slow = await start(2);
  clock += 3_600_000;
  const failed = await start(BURST);
  for (const { resolve } of lookUps.slice(2)) resolve(UNKNOWN);
  await turn();
  expect(lookUps).toHaveLength(BURST);
  for (const { resolve } of lookUps) resolve(VALID);
  await turn();
  for (const { resolve } of lookUps) resolve(UNKNOWN);
  expect(await Promise.all([...slow, ...failed])).toEqual([VALID, VALID, ...ALL_UNKNOWN]);
  expect(await fail()).toBe(0);
});

it('refuses with 503 what has waited too long, which leaves nothing behind', async () => {
  budget = new FailureBudget(BURST, RATE, 10);
  const running = await start(BURST);
  await expect(budget.run('192.0.2.1', () => Promise.resolve(VALID))).rejects.toMatchObject({ type: { status: 503 } });
  for (const { resolve } of lookUps) resolve(VALID);
  await Promise.all(running);
  expect(lookUps).toHaveLength(BURST);
  expect(await fail()).toBe(BURST);
});

it('waits once for both of its networks', async () => {
  const timer = jest.spyOn(globalThis, 'setTimeout');
  const running = await Promise.all(Array.from({ length: 10 }, (_, number) => start(BURST, `2001:db8:1:${number}::1`)));
  const [first, waiting] = [await start(1, '2001:db8:1:99::1'), await start(1, '2001:db8:1:0::1')];
  clock += 40_000;
  // Its /64 has one left then, which the other one takes in the /48.
  lookUps[0]?.resolve(VALID);
  await turn();
  expect(timer.mock.calls.at(-1)?.[1]).toBe(20_000);
  for (const each of lookUps) each.resolve(VALID);
  await turn();
  for (const each of lookUps) each.resolve(VALID);
  expect(new Set(await Promise.all([...running.flat(), ...first, ...waiting]))).toEqual(new Set([VALID]));
});

it('remembers the failures of 10,000 networks, and all that are reserved', async () => {
  const running = await start(BURST);
  await runFrom(10_001, () => turn(UNKNOWN));
  const waiting = await start(1);
  expect(lookUps).toHaveLength(BURST);
  for (const { resolve } of lookUps) resolve(UNKNOWN);
  expect(await Promise.all([...running, ...waiting])).toEqual([...ALL_UNKNOWN, SPENT]);
  clock += 500;
  expect(await fail()).toBe(1);
});

it('forgets those of the network that failed first of more than 10,000', async () => {
  expect(await fail()).toBe(BURST);
  await runFrom(10_000, () => Promise.resolve(UNKNOWN));
  expect(await fail()).toBe(BURST);
});

it('uses no memory for networks without failures', async () => {
  jest.restoreAllMocks();
  const validate = async (count: number) => {
    await runFrom(count, () => Promise.resolve(VALID));
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = await validate(1000);
  expect((await validate(20_000)) - before).toBeLessThan(2 ** 20);
});

it('counts by /64, and allows a /48 ten times as many failures [failures-per-network]', async () => {
  expect([await fail('2001:db8:1:2::1'), await fail('2001:db8:1:2:ffff::')]).toEqual([BURST, 0]);
  for (let number = 0; number < 20; number += 1) await fail(`2001:db8:2:${number}::1`);
  expect([await fail('2001:db8:2:99::1'), await fail('2001:db8:3:99::1')]).toEqual([0, BURST]);
  expect(reports).toEqual(expect.arrayContaining(['2001:db8:1:2::/64', '2001:db8:2::/48']));
});

it('reserves nothing of a /48 for those that wait for their /64, and gives back that of a /64 whose /48 is spent', async () => {
  const verdicts = await start(20 * BURST, '2001:db8:1:1::1');
  for (let number = 2; number <= 9; number += 1) expect(await fail(`2001:db8:1:${number}::1`)).toBe(BURST);
  for (const { resolve } of lookUps.splice(0)) resolve(UNKNOWN);
  await turn();
  expect(lookUps).toHaveLength(0);
  expect((await Promise.all(verdicts)).filter((verdict) => verdict === UNKNOWN)).toHaveLength(BURST);
  // Of the /48, five are left, and a bit because numbers are not exact.
  clock += 5;
  expect(await fail('2001:db8:1:98::1')).toBe(BURST);
  for (let count = 0; count < 2 * BURST; count += 1) expect(await fail('2001:db8:1:99::1')).toBe(0);
  // It gets a failure ten times as fast as a /64.
  clock += 60;
  expect(await fail('2001:db8:1:99::1')).toBe(1);
});
