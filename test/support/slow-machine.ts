import { jest } from '@jest/globals';
import { Client } from 'pg';
import { QUICK } from '../../src/platform/database/reader.js';

/**
 * Lets a busy machine take as long as it needs for what is quick, on connections that are opened from now on.
 *
 * @param isPatient - whether this concerns a connection, by the statements with which it starts
 */
export function allowSlowMachine(isPatient = (_start: string) => true): void {
  const query = Reflect.get(Client.prototype, 'query') as (...given: unknown[]) => unknown;
  const limit = RegExp(`statement_timeout = ${QUICK}\\b`);
  jest.spyOn(Client.prototype, 'query').mockImplementation(function patient(this: Client, ...[text, ...rest]: unknown[]) {
    const isSetting = typeof text === 'string' && limit.test(text) && isPatient(text);
    return Reflect.apply(query, this, [
      isSetting ? text.replace(limit, 'statement_timeout = 60000') : text,
      ...rest,
    ]) as never;
  });
}
