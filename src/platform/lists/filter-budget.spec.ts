import { Problem } from '../problems/problem.js';
import { Metrics } from '../observability/metrics.js';
import { FilterBudget } from './filter-budget.js';

let now: number;
let budget: FilterBudget;

beforeEach(() => {
  now = 1_000_000;
  budget = new FilterBudget({ FILTER_BUDGET: 10, RATE_LIMIT_WINDOW: 60 }, new Metrics(), () => now);
});

/** Seconds to wait according to the refusal; 0 if the token has time. */
function wait(token: string): number {
  try {
    budget.requireTime(token);
    return 0;
  } catch (error) {
    const { type, headers, message } = error as Problem;
    expect(type.status).toBe(429);
    expect(message).toContain(`Retry in ${headers['Retry-After']} s`);
    return Number(headers['Retry-After']);
  }
}

describe('the budget of slow filters [filter-budget]', () => {
  it('refuses a token that has used it up until enough of it has left the window', () => {
    budget.charge('a', 4000);
    now += 10_000;
    budget.charge('a', 5999);
    expect([wait('a'), budget.hasTime('a')]).toEqual([0, true]);
    budget.charge('a', 1);
    expect([wait('a'), budget.hasTime('a')]).toEqual([50, false]);
    now += 49_999;
    expect(wait('a')).toBe(1);
    now += 1;
    expect([wait('a'), budget.usedBy('a')]).toEqual([0, 6000]);
  });

  it('names the time when the token really has time again after long filters at once', () => {
    budget.charge('a', 30_000);
    now += 5000;
    budget.charge('a', 2000);
    expect(wait('a')).toBe(55);
    budget.charge('a', 9000);
    expect(wait('a')).toBe(60);
  });

  it('names at least a second, also if time goes by while it is determined', () => {
    const moving = new FilterBudget({ FILTER_BUDGET: 10, RATE_LIMIT_WINDOW: 60 }, new Metrics(), () => (now += 2));
    moving.charge('b', 20_000);
    now += 59_997;
    expect(() => moving.requireTime('b')).toThrow('Retry in 1 s');
  });

  it('is that of each token', () => {
    budget.charge('a', 10_000);
    expect([wait('a'), wait('b'), budget.usedBy('b')]).toEqual([60, 0, 0]);
  });
});
