import { QueryFailedError } from 'typeorm';
import { serviceUnavailable } from '../http/http-problem-types.js';
import { Problem } from '../http/problem.js';
import { ConnectionFailedError } from './database-client.js';
import { sqlState } from './sql-state.js';

/** Whole seconds after which a client may try again while the database is away. */
const RETRY_AFTER = '5';

/** Codes of a connection that broke under a statement. */
const NETWORK_CODE = /^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ERR_SSL)/;

/**
 * SQLSTATE classes and codes (PostgreSQL manual, appendix A) that say the server cannot serve now, or not us: connection
 * exception, authorization, no such database, insufficient resources, operator intervention with statement time-out,
 * read-only server, lock not available.
 */
const UNAVAILABLE_STATE = /^(?:08|28|3D|53|57)...$|^25006$|^55P03$/;

/** Failures that `pg` and `pg-pool` report by message alone. */
const DRIVER_MESSAGE =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end)/;

/** The database cannot be used now. */
export function databaseUnavailable(cause?: unknown): Problem {
  return retryLater('The database cannot be reached now.', cause);
}

/** The database has too much to do now. */
export function databaseBusy(): Problem {
  return retryLater('The database is busy now.');
}

function retryLater(detail: string, cause?: unknown): Problem {
  return new Problem(serviceUnavailable, detail, { headers: { 'Retry-After': RETRY_AFTER }, cause });
}

/** The 503 that answers an error of the database that says it is away, or undefined for any other error. */
export function asDatabaseProblem(error: unknown): Problem | undefined {
  return isUnavailable(error) ? databaseUnavailable(error) : undefined;
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof ConnectionFailedError) {
    return true;
  }
  const failure: unknown = error instanceof QueryFailedError ? error.driverError : error;
  if (!Error.isError(failure)) {
    return false;
  }
  const code = sqlState(error);
  return NETWORK_CODE.test(code) || UNAVAILABLE_STATE.test(code) || DRIVER_MESSAGE.test(failure.message);
}
