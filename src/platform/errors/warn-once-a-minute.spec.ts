import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { warnOnceAMinute } from './warn-once-a-minute.js';

it('logs a cause once, whatever value of a client it quotes, and its first 256 characters', () => {
  const logger = new Logger();
  const warn = jest.spyOn(logger, 'warn').mockImplementation(() => undefined);
  const debug = jest.spyOn(logger, 'debug').mockImplementation(() => undefined);
  const log = warnOnceAMinute(logger);
  for (const value of ['a'.repeat(15_000), '"b"', 'c']) {
    log('invalid value', new Error(`invalid input syntax for type uuid: "${value}"`));
  }
  log('unavailable', new Error('connection refused'));
  log('unavailable', new Error('timeout'));
  const reasons = warn.mock.calls.map(([line]) => (line as { reason: string }).reason);
  expect(reasons).toEqual([
    expect.stringMatching(/^invalid input syntax for type uuid: "a+$/),
    'connection refused',
    'timeout',
  ]);
  expect(reasons[0]).toHaveLength(256);
  expect(debug).toHaveBeenCalledTimes(2);
});
