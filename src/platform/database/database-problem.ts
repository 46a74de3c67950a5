import { QueryFailedError, QueryRunnerAlreadyReleasedError, UpdateValuesMissingError } from 'typeorm';
import { serviceUnavailable } from '../http/http-problem-types.js';
import { defineProblemType, problemTypeOf } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';
import { ConnectionFailedError } from './database-client.js';
import { sqlState, violatedConstraint } from './sql-state.js';

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

/** Violations of a unique, foreign-key or exclusion constraint. */
const CONFLICTING_STATE = /^23(?:503|505|P01)$/;

/** Values that a column cannot have: data exceptions, and violations of other constraints. */
const REFUSED_STATE = /^(?:22|23)...$/;

/** Failures of a connection that `pg` reports by message alone. */
const BROKEN_CONNECTION =
  /^(?:Connection terminated|Query read timeout|Client has encountered a connection error|Client was closed)/;

/** And those of the pool: all its connections are busy, or it is closed, or not open yet. */
const NO_CONNECTION = /^(?:timeout exceeded when trying to connect|Cannot use a pool after calling end|Driver not Connected)/;

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

/**
 * The problem of an error of the database, or undefined for an error that is not the client's and does not pass: 503 while it is away;
 * for a constraint the problem type that names it, else 409 or 400; 400 for a value that it refuses (SQLSTATE class 22).
 */
export function asDatabaseProblem(error: unknown): Problem | undefined {
  if (isUnavailable(error)) {
    return databaseUnavailable(error);
  }
  const type = problemTypeOf(violatedConstraint(error) ?? '');
  const state = sqlState(error);
  if (type) {
    return new Problem(type, type.remedy, { cause: error });
  }
  if (CONFLICTING_STATE.test(state)) {
    return new Problem(conflict, 'The change contradicts what is stored.', { cause: error });
  }
  return REFUSED_STATE.test(state) || error instanceof UpdateValuesMissingError
    ? new Problem(invalidValue, 'The database refuses a value of the request.', { cause: error })
    : undefined;
}

/** Whether an error says that a server cannot be reached, or takes no connections: another server may do better. */
export function isAway(error: unknown): boolean {
  const failure: unknown = error instanceof QueryFailedError ? error.driverError : error;
  return (
    error instanceof ConnectionFailedError ||
    error instanceof QueryRunnerAlreadyReleasedError ||
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
