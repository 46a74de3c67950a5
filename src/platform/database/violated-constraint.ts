import { QueryFailedError } from 'typeorm';

/** The name of the constraint or unique index because of which the database refused a statement; undefined for other errors. */
export function violatedConstraint(error: unknown): string | undefined {
  const refusal: unknown = error instanceof QueryFailedError ? error.driverError : undefined;
  return Error.isError(refusal) && 'constraint' in refusal && typeof refusal.constraint === 'string'
    ? refusal.constraint
    : undefined;
}
