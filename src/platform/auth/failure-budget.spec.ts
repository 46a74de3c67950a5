import { setTimeout as delay } from 'node:timers/promises';
import { FailureBudget } from './failure-budget.js';

const BURST = 5;

let clock: number;
let made: number;
let reports: [string, number][];
let budget: FailureBudget;

beforeEach(() => {
  [clock, made, reports] = [0, 0, []];
  const onExhausted = (address: string, refused: number) => reports.push([address, refused]);
  budget = new FailureBudget({ burst: BURST, rate: 2, onExhausted, now: () => clock });
});

/** An attempt with a certain outcome, which takes a moment. */
function attempt(outcome: 'good' | 'bad', address = 'a'): Promise<string | undefined> {
  const make = async () => {
    made += 1;
    await delay(1);
    return outcome;
  };
  return budget.attempt(address, make, (made_) => made_ === 'bad');
}

function attempts(count: number, outcome: 'good' | 'bad'): Promise<(string | undefined)[]> {
  return Promise.all(Array.from({ length: count }, () => attempt(outcome)));
}

it('lets an address fail as often as the burst says, and then no more, also when all come at once', async () => {
  const outcomes = await attempts(1000, 'bad');
  expect([made, outcomes.filter((outcome) => outcome === 'bad').length]).toEqual([BURST, BURST]);
  expect(await attempt('good')).toBeUndefined();
  expect(await attempt('good', 'another')).toBe('good');
  expect(made).toBe(BURST + 1);
});

it('tells at once that an address may not, but not while an attempt shows', async () => {
  expect(budget.refuses('a')).toBe(false);
  await attempts(BURST - 1, 'bad');
  const last = attempt('bad');
  expect(budget.refuses('a')).toBe(false);
  await last;
  expect([budget.refuses('a'), budget.refuses('another'), reports]).toEqual([true, false, [['a', 1]]]);
  clock += 500;
  expect(budget.refuses('a')).toBe(false);
});

it('lets it fail again at the rate, up to the burst', async () => {
  await attempts(10, 'bad');
  clock += 500;
  await attempts(10, 'bad');
  expect(made).toBe(BURST + 1);
  clock += 3_600_000;
  await attempts(100, 'bad');
  expect(made).toBe(2 * BURST + 1);
});

it('refuses nobody of a crowd that succeeds, and runs no more at once than may fail', async () => {
  let underWay = 0;
  let most = 0;
  const make = async () => {
    underWay += 1;
    most = Math.max(most, underWay);
    await delay(1);
    underWay -= 1;
    return true;
  };
  const outcomes = await Promise.all(Array.from({ length: 500 }, () => budget.attempt('a', make, (good) => !good)));
  expect(new Set(outcomes)).toEqual(new Set([true]));
  expect([most, budget.size]).toEqual([BURST, 0]);
});

it('lets those go on who came after failures, if these leave something over', async () => {
  const outcomes = await Promise.all([...Array.from({ length: BURST - 1 }, () => attempt('bad')), attempts(20, 'good')]);
  expect(outcomes.at(-1)).toEqual(Array.from({ length: 20 }, () => 'good'));
});

it('lets whoever waits meet the error that the attempt under way met, and counts none as a failure', async () => {
  const fail = () => delay(1).then(() => Promise.reject(new Error('away')));
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => budget.attempt('a', fail, () => true)));
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
  await attempts(20, 'bad');
  expect(made).toBe(BURST);
});

it('keeps nobody of a flood waiting for what the rate gives back', async () => {
  const fail: (() => void)[] = [];
  const make = () =>
    new Promise<string>((resolve) => {
      fail.push(() => {
        resolve('bad');
      });
    });
  let refused = 0;
  for (let sent = 0; sent < 100; sent += 1) {
    void budget.attempt('a', make, () => true).then((outcome) => (refused += outcome === undefined ? 1 : 0));
  }
  await delay(1);
  // Whenever one fails, there is a place for another one: some are always under way.
  for (let failures = 0; failures < BURST; failures += 1) {
    clock += 500;
    fail.shift()?.();
    await delay(1);
  }
  expect([fail.length, refused]).toEqual([BURST, 100 - 2 * BURST]);
});

it('reports an address that has used it up once a minute, with how many were refused', async () => {
  await attempts(BURST + 10, 'bad');
  expect(reports).toEqual([['a', 1]]);
  clock += 60_000;
  await attempts(BURST + 3, 'bad');
  expect(reports).toEqual([
    ['a', 1],
    ['a', 10],
  ]);
});

it('remembers a bounded number of addresses', async () => {
  for (let address = 0; address < 20_000; address += 1) {
    await budget.attempt(
      String(address),
      () => Promise.resolve('bad'),
      () => true,
    );
  }
  expect(budget.size).toBe(10_000);
});
