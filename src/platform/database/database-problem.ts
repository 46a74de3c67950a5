import type { DatabaseError } from 'pg';
import { EntityNotFoundError, type EntityMetadata, OptimisticLockVersionMismatchError, QueryFailedError } from 'typeorm';
import { defineProblemType, notFound, problemTypes, serviceUnavailable } from '../problems/problem-types.js';
import { jsonPointer, Problem } from '../problems/problem.js';

/** SQLSTATE of a write on a server that is, or has become, a replica. */
export const READ_ONLY = '25006';

/** SQLSTATE of a server, or a role, without a free connection. */
export const FULL = '53300';

const NOT_NULL_VIOLATION = '23502';

/** Message of the error of a connection that failed. Its cause is the error of Node or `pg`. */
export const NO_CONNECTION = 'No connection to the database.';

type Meaning = 'connection' | 'timeout' | 'conflict' | 'unavailable' | 'constraint' | 'value';

/** Patterns for the SQLSTATE (PostgreSQL manual, appendix A), Node's code, or the message without one. The first counts. */
const MEANINGS: readonly (readonly [Meaning, RegExp])[] = [
  ['connection', /^(?:08|28|3D)...$|^57P0.$/],
  ['connection', /^(?:ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ERR_SSL)/],
  [
    'connection',
    /^(?:Connection terminated|Client has encountered a connection error|Client was closed|Query read timeout)/,
  ],
  ['connection', RegExp(`^${NO_CONNECTION}`)],
  // Of Prisma, which reports a failed connection without the error of Node.
  ['connection', /^P10..$/],
  // TypeORM releases a runner whose connection ended, and throws when it is used again.
  ['connection', /^(?:Query runner already released|Database connection provided by a query runner)/],
  // Canceled by its time limit or by an administrator.
  ['timeout', /^57014$/],
  // A rollback by the server, also of a read on a replica that conflicts with recovery, or a lock that timed out.
  ['conflict', /^40...$|^55P03$/],
  // Resources, operator intervention, a failing disk, read-only, timeouts of a transaction, pool exhausted.
  ['unavailable', /^(?:53|57)...$|^58030$|^25006$|^25P0[34]$/],
  ['unavailable', /^(?:timeout exceeded when trying to connect|Cannot use a pool after calling end|Driver not Connected)/],
  // An entity of TypeORM's Active Record, before the first connection.
  ['unavailable', /^DataSource is not set for this entity/],
  // Foreign-key (also with RESTRICT, as of PostgreSQL 18), unique and exclusion constraints.
  ['constraint', /^23(?:503|001|505|P01)$/],
  ['value', /^(?:22|23)...$/],
  // An update without a change.
  ['value', /^Cannot perform update query because update values are not defined/],
];

/** The meaning of a database error; undefined for a bug of the service. With `connection`, another server may respond. */
export function meaningOf(error: unknown): Meaning | undefined {
  if (error instanceof Problem) {
    return error.type === serviceUnavailable ? 'unavailable' : undefined;
  }
  const failure: unknown = error instanceof QueryFailedError ? error.driverError : error;
  const text = sqlState(error) || (Error.isError(failure) ? failure.message : '');
  // A fatal error with any code ends the connection: pgpool-II has XX000 for a server that is gone. So does any error of the
  // operating system, such as ENOMEM: whether the statement was carried out is then unknown.
  const { severity = '', syscall } = detailsOf(error);
  const otherwise = /^(?:FATAL|PANIC)$/.test(severity) || syscall !== undefined ? 'connection' : undefined;
  return MEANINGS.find(([, pattern]) => pattern.test(text))?.[0] ?? otherwise;
}

/** The SQLSTATE or network error code of a failed statement, or an empty text. */
export function sqlState(error: unknown): string {
  return detailsOf(error).code ?? '';
}

/** Whether a server has refused the password. PgBouncer reports it as a violation of the protocol. */
export function isPasswordRefused(error: unknown): boolean {
  const { code, message = '', cause } = Object(error) as Partial<DatabaseError>;
  return code === '28P01' || /authentication failed/.test(message) || (cause !== undefined && isPasswordRefused(cause));
}

/** The error of PostgreSQL, or the one of Node that broke the connection. */
function detailsOf(error: unknown): Partial<DatabaseError & Pick<NodeJS.ErrnoException, 'syscall'>> {
  return error instanceof QueryFailedError ? (error.driverError as DatabaseError) : {};
}

export function isUnavailable(error: unknown): boolean {
  const meaning = meaningOf(error);
  return meaning !== undefined && meaning !== 'constraint' && meaning !== 'value';
}

export function databaseBusy(): Problem {
  return databaseUnavailable(undefined, 'The database is busy.');
}

export function databaseUnavailable(cause?: unknown, detail = 'The database is not available.'): Problem {
  return new Problem(serviceUnavailable, detail, { headers: { 'Retry-After': '5' }, cause });
}

const invalidValue = defineProblemType({
  name: 'invalid-value',
  status: 400,
  title: 'Invalid value',
  remedy:
    'The database refused a value of the request: it is missing, out of range or invalid. Fix it and retry. `errors` ' +
    'names a missing one.',
});

/** A change that violates a unique, foreign-key or exclusion constraint. */
export const conflict = defineProblemType({
  name: 'conflict',
  status: 409,
  title: 'Conflict',
  remedy:
    'The request conflicts with stored data: the same unique value already exists, a resource that it refers to does ' +
    'not exist or is still in use, or the resource has changed since it was read.',
});

/**
 * Maps a database error to a problem: to the type that names its constraint, if any. Undefined for a bug of the service.
 *
 * @param given - the error of TypeORM or another library
 * @param entities - by which columns are reported as properties
 */
export function asDatabaseProblem(given: unknown, entities: readonly EntityMetadata[]): Problem | undefined {
  if (given instanceof EntityNotFoundError || (Object(given) as Partial<DatabaseError>).code === 'P2025') {
    return new Problem(notFound, 'The resource does not exist.', { cause: given });
  }
  if (given instanceof OptimisticLockVersionMismatchError) {
    return new Problem(conflict, 'The resource has another version: read it again and retry.', { cause: given });
  }
  const error = asQueryFailed(given);
  // Its index has a suffix while `REINDEX CONCURRENTLY` replaces it.
  const constraint = detailsOf(error).constraint?.replace(/_cc(?:new|old)\d*$/, '');
  const type =
    constraint === undefined ? undefined : problemTypes().find((candidate) => candidate.constraint === constraint);
  if (type) {
    return new Problem(type, type.remedy, { cause: error });
  }
  switch (meaningOf(error)) {
    case undefined:
      return undefined;
    case 'constraint':
      return new Problem(conflict, 'The request conflicts with stored data.', { cause: error });
    case 'value':
      return invalidValueProblem(error, entities);
    case 'conflict':
      return databaseUnavailable(error, 'A concurrent request has locked or changed the same data: retry.');
    default:
      return databaseUnavailable(error);
  }
}

/** Wraps an error of a statement as TypeORM does, if another library throws it as it is, or in an error of its own. */
function asQueryFailed(error: unknown): unknown {
  const { query, cause, name } = Object(error) as Partial<QueryFailedError>;
  if (name === 'PrismaClientKnownRequestError') {
    return new QueryFailedError('', [], failureOfPrisma(error as PrismaError));
  }
  const isWrapped = !(error instanceof QueryFailedError) && typeof query === 'string' && Error.isError(cause);
  const failure = isWrapped ? cause : error;
  const { code, severity } = Object(failure) as Partial<DatabaseError>;
  const isOfServer = severity !== undefined && /^[\dA-Z]{5}$/.test(String(code));
  return isWrapped || isOfServer ? new QueryFailedError('', [], failure as Error) : error;
}

interface PrismaError extends Error {
  readonly code: string;
  readonly meta?: { driverAdapterError?: { cause?: PrismaCause } };
}

type PrismaCause = { originalCode?: string; originalMessage?: string; constraint?: { index?: string } };

/** What Prisma keeps of the server's error, or its own code. */
function failureOfPrisma({ code, meta }: PrismaError): Error {
  const { originalCode = code, originalMessage = code, constraint } = meta?.driverAdapterError?.cause ?? {};
  return Object.assign(new Error(originalMessage), { code: originalCode, constraint: constraint?.index });
}

function invalidValueProblem(error: unknown, entities: readonly EntityMetadata[]): Problem {
  const { code, table, column } = detailsOf(error);
  if (code !== NOT_NULL_VIOLATION || column === undefined) {
    return new Problem(invalidValue, 'The database rejected a value of the request.', { cause: error });
  }
  const columns = entities.filter(({ tableName }) => tableName === table).flatMap((entity) => entity.columns);
  const property = columns.find(({ databaseName }) => databaseName === column)?.propertyPath ?? column;
  const fault = { pointer: jsonPointer(property.split('.')), code: 'required', detail: 'is missing or null' };
  return new Problem(invalidValue, `${fault.pointer} ${fault.detail}.`, { cause: error, errors: [fault] });
}
