import type { DatabaseError } from 'pg';
import {
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
  UpdateValuesMissingError,
} from 'typeorm';
import { serviceUnavailable } from '../http/http-problem-types.js';
import { defineProblemType, problemTypeOf } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';

/** SQLSTATE of a statement that its time limit, or somebody, ended. */
export const QUERY_CANCELED = '57014';

/** SQLSTATE of a conflict with something that happened at the same time; it can be tried again. */
export const CONFLICT = '40001';

/** SQLSTATE of a write to a server that is, or has become, a replica. */
export const READ_ONLY = '25006';

/** No connection to the database could be made; the cause is what Node or `pg` says of it. */
export class ConnectionFailedError extends Error {
  override readonly name = 'ConnectionFailedError';

  constructor(cause: Error) {
    super('No connection to the database.', { cause });
  }
}

export type Meaning = 'away' | 'timeout' | 'concurrency' | 'unavailable' | 'contradiction' | 'refusal';

/**
 * What errors mean by their SQLSTATE (PostgreSQL manual, appendix A), their code of Node, or their message where `pg` gives no
 * code. The first one that fits counts.
 */
const MEANINGS: readonly (readonly [Meaning, RegExp])[] = [
  ['away', /^(?:08|28|3D)...$|^57P0.$/],
  ['away', /^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ERR_SSL)/],
  ['away', /^(?:Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout)/],
  ['timeout', /^57014$/],
  // Rolled back, or a lock was not available in time.
  ['concurrency', /^40...$|^55P03$/],
  // No resources, operator intervention, read-only, idle in a transaction for too long, no connection in the pool.
  ['unavailable', /^(?:53|57)...$|^25006$|^25P03$/],
  ['unavailable', /^(?:timeout exceeded when trying to connect|Cannot use a pool after calling end|Driver not Connected)/],
  // Unique, foreign-key and exclusion constraints.
  ['contradiction', /^23(?:503|505|P01)$/],
  ['refusal', /^(?:22|23)...$/],
];

/** What an error of the database means; undefined for one that is a fault of the service. */
export function meaningOf(error: unknown): Meaning | undefined {
  // TypeORM releases a runner whose connection ended, and complains when it is used again.
  if (
    [ConnectionFailedError, QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError].some(
      (each) => error instanceof each,
    )
  ) {
    return 'away';
  }
  if (error instanceof Problem) {
    return error.type === serviceUnavailable ? 'away' : undefined;
  }
  if (error instanceof UpdateValuesMissingError) {
    return 'refusal';
  }
  const failure: unknown = error instanceof QueryFailedError ? error.driverError : error;
  const text = sqlState(error) || (Error.isError(failure) ? failure.message : '');
  return MEANINGS.find(([, pattern]) => pattern.test(text))?.[0];
}

/** The code that PostgreSQL, or the network below it, gave an error of a statement; else empty. */
export function sqlState(error: unknown): string {
  return detailsOf(error).code ?? '';
}

function detailsOf(error: unknown): Partial<DatabaseError> {
  return error instanceof QueryFailedError ? (error.driverError as DatabaseError) : {};
}

/** Whether a server cannot be reached, or takes no connections: another server may do better. */
export function isAway(error: unknown): boolean {
  return meaningOf(error) === 'away';
}

/** Whether the database cannot be used now, and may be later. */
export function isUnavailable(error: unknown): boolean {
  const meaning = meaningOf(error);
  return meaning !== undefined && meaning !== 'contradiction' && meaning !== 'refusal';
}

/** The database has too much to do now. */
export function databaseBusy(): Problem {
  return databaseUnavailable(undefined, 'The database is busy now.');
}

/** The database cannot be used now. */
export function databaseUnavailable(cause?: unknown, detail = 'The database cannot be reached now.'): Problem {
  return new Problem(serviceUnavailable, detail, { headers: { 'Retry-After': '5' }, cause });
}

/** A value that the database cannot store. */
const invalidValue = defineProblemType({
  name: 'invalid-value',
  status: 400,
  title: 'Invalid value',
  remedy:
    'A value of the request is out of range, missing or not valid for what it is stored as. Correct the request and send it again.',
});

/** A change that contradicts what is stored. */
export const conflict = defineProblemType({
  name: 'conflict',
  status: 409,
  title: 'Conflict',
  remedy:
    'The change contradicts what is stored: something with the same unique value exists already, or something that it refers to does not exist or is still referred to.',
});

/** The problem of an error of the database: of a constraint, the type that names it. Undefined for a fault of the service. */
export function asDatabaseProblem(error: unknown): Problem | undefined {
  const type = problemTypeOf(detailsOf(error).constraint ?? '');
  if (type) {
    return new Problem(type, type.remedy, { cause: error });
  }
  switch (meaningOf(error)) {
    case undefined:
      return undefined;
    case 'contradiction':
      return new Problem(conflict, 'The change contradicts what is stored.', { cause: error });
    case 'refusal':
      return new Problem(invalidValue, 'The database refuses a value of the request.', { cause: error });
    default:
      return databaseUnavailable(error);
  }
}
