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
 * exception, authorization, no such database, conflict of transactions, insufficient resources, operator intervention with
 * statement time-out, read-only server, transaction idle for too long, lock not available.
 */
const UNAVAILABLE_STATE = /^(?:08|28|3D|40|53|57)...$|^25006$|^25P03$|^55P03$/;

/** Of these, those of a server that is of no use to anybody here: it shuts down or starts, or does not know us. */
const AWAY_STATE = /^(?:08|28|3D)...$|^57P0.$/;

/** Failures of a connection that `pg` reports by message alone. */
const BROKEN_CONNECTION =
  /^(?:Connection terminated|Query read timeout|Client has encountered a connection error|Client was closed)/;

/** And those of the pool: all its connections are busy, or it is closed. */
const NO_CONNECTION = /^(?:timeout exceeded when trying to connect|Cannot use a pool after calling end)/;

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

/** Whether an error says that a server cannot be reached, or takes no connections: another server may do better. */
export function isAway(error: unknown): boolean {
  const failure: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return (
    error instanceof ConnectionFailedError ||
    (error instanceof Problem && error.type === serviceUnavailable) ||
    AWAY_STATE.test(sqlState(error)) ||
    NETWORK_CODE.test(sqlState(error)) ||
    (Error.isError(failure) && BROKEN_CONNECTION.test(failure.message))
  );
}

/** Whether an error says that the database cannot be used now, and may be later. */
export function isUnavailable(error: unknown): boolean {
  const failure: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return (
    isAway(error) || UNAVAILABLE_STATE.test(sqlState(error)) || (Error.isError(failure) && NO_CONNECTION.test(failure.message))
  );
}
