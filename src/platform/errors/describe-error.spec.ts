import { runInNewContext } from 'node:vm';
import { describeError, reasonOf, withoutSecrets } from './describe-error.js';

const token = `items_${'a1'.repeat(18)}`;
const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';

/** An error with nothing but a message and what is given. */
function error(message: string, properties: object = {}): Error {
  return Object.assign(new Error(message), { stack: undefined }, properties);
}

describe('the description of an error', () => {
  it('has its type, message, code and stack, and nothing that could be a row, a parameter or an argument', () => {
    const failed = Object.assign(new TypeError('No.'), {
      code: '23505',
      detail: 'Key (name)=(secret)',
      parameters: ['secret'],
    });
    expect(describeError(failed)).toEqual({ type: 'TypeError', message: 'No.', code: '23505', stack: failed.stack });
  });

  it.each<[string, object]>([
    ['of another realm', runInNewContext('new RangeError("No.")') as Error],
    ['that has only the prototype of one', Object.create(RangeError.prototype, { message: { value: 'No.' } }) as Error],
  ])('describes one %s', (_kind, given) => {
    expect(describeError(given)).toMatchObject({ type: 'RangeError', message: 'No.' });
  });

  it.each([5, undefined, null, { code: 'secret' }])('has no code that is not text: %j', (code) => {
    expect(describeError(error('No.', { code }))).toEqual({ type: 'Error', message: 'No.' });
  });

  it('has no credentials in the message and the stack, nor in those of causes', () => {
    const failed = new Error(`${token} is refused`, { cause: new Error(`because of ${jwt}`) });
    const text = JSON.stringify(describeError(failed));
    expect(describeError(failed)).toMatchObject({ message: '*** is refused', cause: { message: 'because of ***' } });
    expect(text.includes(token) || text.includes(jwt)).toBe(false);
    expect(text).toContain('describe-error.spec');
  });

  it('follows causes of any kind, and ends at a cycle', () => {
    const inner = error('inner', { cause: 'text' });
    const outer = error('outer', { cause: inner });
    const cause = { type: 'string', message: 'text' };
    expect(describeError(outer)).toEqual({
      type: 'Error',
      message: 'outer',
      cause: { type: 'Error', message: 'inner', cause },
    });
    Object.assign(inner, { cause: outer });
    expect(describeError(outer)).toEqual({ type: 'Error', message: 'outer', cause: { type: 'Error', message: 'inner' } });
    const own = error('own');
    expect(describeError(Object.assign(own, { cause: own }))).toEqual({ type: 'Error', message: 'own' });
  });

  it('lists the errors of an AggregateError, without those that it is part of', () => {
    const several = Object.assign(new AggregateError([error('a'), 'b'], 'several'), { stack: undefined });
    const errors = [
      { type: 'Error', message: 'a' },
      { type: 'string', message: 'b' },
    ];
    expect(describeError(several)).toEqual({ type: 'AggregateError', message: 'several', errors });
    several.errors.push(several);
    expect(describeError(several)).toEqual({ type: 'AggregateError', message: 'several', errors });
    several.errors = [several];
    expect(describeError(several)).toEqual({ type: 'AggregateError', message: 'several' });
    expect(describeError(error('No.', { errors: ['secret'] }))).toEqual({ type: 'Error', message: 'No.' });
  });

  it.each<[unknown, string, string]>([
    ['text', 'string', 'text'],
    [`refused ${token}`, 'string', 'refused ***'],
    [undefined, 'undefined', 'undefined'],
    [null, 'object', 'null'],
    [5n, 'bigint', '5'],
    [Symbol('x'), 'symbol', 'Symbol(x)'],
    [{ password: 'secret', toString: () => 'secret' }, 'object', '[object Object]'],
    [{ status: 'error', message: `No ${token}`, row: 'secret' }, 'object', 'No ***'],
    [{ message: [`No ${token}`, 'Nor this'] }, 'object', 'No ***; Nor this'],
    [{ message: 404 }, 'object', '404'],
    [{ message: { row: 'secret' } }, 'object', '[object Object]'],
    [{ message: [{ row: 'secret' }] }, 'object', '[object Object]'],
    [{ message: null }, 'object', '[object Object]'],
    [['secret'], 'object', '[object Array]'],
    [() => 'secret', 'function', '[object Function]'],
  ])('of %p, which is none, has its type, and its text or message unless it has parts', (thrown, type, message) => {
    expect(describeError(thrown)).toEqual({ type, message });
  });

  it('has a message of any type as text', () => {
    expect(describeError(error('', { message: 5 })).message).toBe('5');
  });
});

describe('the reason of an error', () => {
  it('has the messages of its causes, outermost first', () => {
    expect(reasonOf(error(' a ', { cause: error('', { cause: error('b', { cause: 'c' }) }) }))).toBe('a b c');
  });

  it('has the first of several errors, unless there is a cause', () => {
    const several = (cause?: unknown) => new AggregateError([error('first'), error('second')], '', { cause });
    expect(reasonOf(several())).toBe('first');
    expect(reasonOf(several(error('cause')))).toBe('cause');
    expect(reasonOf(new AggregateError([], 'none'))).toBe('none');
  });

  it('has no credentials', () => {
    expect(reasonOf(error('a', { cause: token }))).toBe('a ***');
  });
});

describe('a text without secrets', () => {
  it.each([
    [`Bearer ${jwt} and ${token}`, 'Bearer *** and ***'],
    [
      "unknown command 'AUTH', with args beginning with: 'hunter2' ",
      "unknown command 'AUTH', with args beginning with: ***",
    ],
    [
      "with args beginning with: 'a'\n    at Redis\nwith args beginning with: 'b'",
      'with args beginning with: ***\n    at Redis\nwith args beginning with: ***',
    ],
    ['ordinary', 'ordinary'],
    [undefined, 'undefined'],
  ])('%s', (text, expected) => {
    expect(withoutSecrets(text)).toBe(expected);
  });
});
