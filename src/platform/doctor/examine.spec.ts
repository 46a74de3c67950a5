import { type Check, type CheckStatus, failed, needing, ok, skipped, warning } from './check.js';
import { examine } from './examine.js';
import { allOf, worstOf } from './worst-of.js';

const check = (name: string, run: Check['run'], ...needs: string[]): Check => ({ name, needs, run });

async function statusesOf(...checks: Check[]): Promise<Record<string, CheckStatus>> {
  const report = await examine(checks, String, 100);
  return Object.fromEntries(report.checks.map(({ name, status }) => [name, status]));
}

describe('an examination', () => {
  it('gives what each check found, in their order, and the worst of it', async () => {
    const report = await examine([
      check('slow', () => new Promise((resolve) => setTimeout(() => resolve(ok('one')), 50))),
      check('worse', () => warning('two', 'mend it')),
      check('none', () => skipped('three')),
    ]);
    expect(report).toEqual({
      status: 'warning',
      checks: [
        { name: 'slow', status: 'ok', found: 'one' },
        { name: 'worse', status: 'warning', found: 'two', mend: 'mend it' },
        { name: 'none', status: 'skipped', found: 'three' },
      ],
    });
  });

  it('is ok when there was nothing to look at', async () => {
    expect(await examine([check('none', () => skipped('unset'))])).toMatchObject({ status: 'ok' });
    expect(await examine([])).toEqual({ status: 'ok', checks: [] });
  });

  it('has an end, and tells it of whoever has none', async () => {
    const endless = check('endless', () => new Promise<never>(() => undefined));
    const report = await examine([endless, check('after', () => ok(''), 'endless')], String, 50);
    expect(report.checks).toEqual([
      { name: 'endless', status: 'failed', found: 'No answer within 50 ms', mend: expect.any(String) },
      { name: 'after', status: 'skipped', found: 'endless failed' },
    ]);
  });

  it.each<[string, Check['run']]>([
    [
      'at once',
      () => {
        throw new Error('broken', { cause: new Error('inside') });
      },
    ],
    ['later', () => Promise.reject(new Error('broken', { cause: new Error('inside') }))],
  ])('takes what throws %s for a failure, with its causes', async (_case, run) => {
    expect(await examine([check('broken', run)])).toMatchObject({ status: 'failed', checks: [{ found: 'broken: inside' }] });
  });

  it('runs what needs others behind these, and only when they have not failed or been skipped', async () => {
    const order: string[] = [];
    const noted =
      (name: string, finding = ok('')) =>
      () => (order.push(name), finding);
    const found = await statusesOf(
      check('first', async () => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        return noted('first')();
      }),
      check('second', noted('second', warning('', '')), 'first'),
      check('third', noted('third'), 'first', 'second'),
      check('wrong', noted('wrong', failed('', ''))),
      check('never', noted('never'), 'first', 'wrong'),
      check('nor this', noted('nor this'), 'never'),
    );
    expect(order).toEqual(['wrong', 'first', 'second', 'third']);
    expect(found).toEqual({
      first: 'ok',
      second: 'warning',
      third: 'ok',
      wrong: 'failed',
      never: 'skipped',
      'nor this': 'skipped',
    });
  });

  it('says of what was skipped for another why that one was', async () => {
    const report = await examine([check('one', () => skipped('it is unset')), check('two', () => ok(''), 'one')]);
    expect(report.checks[1]).toEqual({ name: 'two', status: 'skipped', found: 'it is unset' });
  });

  it('runs what others do not need at once', async () => {
    const waiting: ((finding: ReturnType<typeof ok>) => void)[] = [];
    const meet: Check['run'] = () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 2) waiting.forEach((go) => go(ok('')));
      });
    expect(await statusesOf(check('one', meet), check('two', meet))).toEqual({ one: 'ok', two: 'ok' });
  });

  it('refuses two of one name, and what needs something that comes later', async () => {
    await expect(examine([check('one', () => ok('')), check('one', () => ok(''))])).rejects.toThrow('Two checks are called one.');
    await expect(examine([check('one', () => ok(''), 'two'), check('two', () => ok(''))])).rejects.toThrow('one needs two');
  });

  it('shows what may be shown', async () => {
    const report = await examine([check('one', () => warning('a secret', 'the secret'))], (text) =>
      text.replace('secret', '***'),
    );
    expect(report.checks[0]).toMatchObject({ found: 'a ***', mend: 'the ***' });
  });
});

it('gives a check that is an object of a class more needs', async () => {
  class Mine implements Check {
    readonly name = 'mine';
    readonly needs = ['other'];
    private readonly text = 'as it is';
    run() {
      return ok(this.text);
    }
  }
  const mine = needing(['first'], new Mine());
  expect([mine.name, mine.needs, await mine.run()]).toEqual(['mine', ['first', 'other'], ok('as it is')]);
});

it('makes one finding of several', () => {
  expect(worstOf(['ok', 'skipped', 'failed', 'warning'])).toBe('failed');
  expect(allOf([], ok('well'))).toEqual(ok('well'));
  expect(allOf([warning('a', 'b')], ok('well'))).toEqual(warning('a', 'b'));
  expect(allOf([ok('a'), failed('b', 'c'), warning('d', 'e')], ok('well'))).toEqual(failed('a\nb\nd', 'c\ne'));
});
