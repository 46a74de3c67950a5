import { QueryFailedError } from 'typeorm';
import { describeError } from './describe-error.js';

describe('an error in the log', () => {
  it('tells type, message, code, stack and causes, and nothing else that hangs on it', () => {
    const driverError = Object.assign(new Error('null value in column "name"'), {
      code: '23502',
      detail: 'Failing row contains (secret).',
      client: { secretKey: 1 },
    });
    const error = new QueryFailedError('INSERT INTO items VALUES ($1)', ['secret'], driverError);
    expect(describeError(new Error('outer', { cause: error }))).toEqual({
      type: 'Error',
      message: 'outer',
      stack: expect.any(String),
      cause: { type: 'QueryFailedError', message: driverError.message, code: '23502', stack: expect.any(String) },
    });
    expect(JSON.stringify(describeError(error))).not.toMatch(/secret/);
  });

  it('may be no error', () => {
    expect(describeError('text')).toEqual({ type: 'string', message: 'text' });
  });
});
