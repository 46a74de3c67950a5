import { QueryFailedError } from 'typeorm';
import { failureText } from './operator-error.js';

const SECRET = 'canary';

describe('what is said of a failure', () => {
  it('is the stack, the causes and those that it sums up, and nothing else that hangs on these', () => {
    const driverError = Object.assign(new Error('duplicate key'), {
      code: '23505',
      detail: `Key (digest)=(${SECRET}) exists.`,
    });
    const query = new QueryFailedError('SELECT $1', [SECRET], driverError);
    const redis = Object.assign(new Error('WRONGPASS'), { command: { name: 'auth', args: [SECRET] } });
    const url = Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL', input: SECRET });
    const text = failureText(new Error('outer', { cause: new AggregateError([query, redis, url], 'several') }));
    expect(text).not.toContain(SECRET);
    const messages = ['Error: outer', 'AggregateError: several', 'QueryFailedError: duplicate key', 'Error: WRONGPASS'];
    for (const message of [...messages, 'TypeError: Invalid URL', '[code]: 23505', '[code]: ERR_INVALID_URL']) {
      expect(text).toContain(message);
    }
    expect(text.match(/\n +at /g)?.length).toBeGreaterThan(5);
  });

  it('has an end where an error is its own cause', () => {
    const error: Error = new AggregateError([], 'circular');
    error.cause = error;
    (error as AggregateError).errors.push(error);
    expect(failureText(error).match(/circular/g)).toHaveLength(1);
  });

  it.each([
    [{ password: SECRET }],
    [Object.create(null)],
    [new URL(`https://:${SECRET}@host`)],
    [[SECRET]],
    [null],
    [undefined],
  ])('says little of what is no error: %#', (thrown: unknown) => {
    expect(failureText(thrown)).not.toContain(SECRET);
  });
});
