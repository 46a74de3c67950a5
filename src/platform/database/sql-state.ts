import { QueryFailedError } from 'typeorm';

/** A statement was ended, as the time-out does. */
export const QUERY_CANCELED = '57014';

/** Something else that happened at the same time came in the way; it can be tried again. */
export const CONFLICT = '40001';

/** Something was to be written to a server that is, or has become, a replica. */
export const READ_ONLY = '25006';

/** The code that PostgreSQL, or the network below it, gave an error of a statement (PostgreSQL manual, appendix A); else empty. */
export function sqlState(error: unknown): string {
  const failure: unknown = error instanceof QueryFailedError ? error.driverError : undefined;
  return Error.isError(failure) && 'code' in failure ? String(failure.code) : '';
}

/** The name of the constraint or unique index because of which the database refused a statement; undefined for other errors. */
export function violatedConstraint(error: unknown): string | undefined {
  const refusal: unknown = error instanceof QueryFailedError ? error.driverError : undefined;
  return Error.isError(refusal) && 'constraint' in refusal && typeof refusal.constraint === 'string'
    ? refusal.constraint
    : undefined;
}
