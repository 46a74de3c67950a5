import { jest } from '@jest/globals';
import { Client } from 'pg';
import { QUICK } from '../../src/platform/database/reader.js';

/**
 * Lets a busy machine take as long as it needs for what is quick, on connections that are opened from now on.
 *
 * @param isPatient - whether this concerns a connection, by the text that sets its limits
 */
export function allowSlowMachine(isPatient = (_text: string) => true): void {
  const query = Reflect.get(Client.prototype, 'query') as (...given: unknown[]) => unknown;
  const limit = RegExp(`statement_timeout = ${QUICK}\\b`);
  jest.spyOn(Client.prototype, 'query').mockImplementation(function patient(this: Client, ...[text, ...rest]: unknown[]) {
    const given = typeof text === 'string' && isPatient(text) ? text.replace(limit, 'statement_timeout = 60000') : text;
    return Reflect.apply(query, this, [given, ...rest]) as never;
  });
}
