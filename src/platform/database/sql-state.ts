import { QueryFailedError } from 'typeorm';

/** The code that PostgreSQL, or the network below it, gave an error of a statement (PostgreSQL manual, appendix A); else empty. */
export function sqlState(error: unknown): string {
  const failure: unknown = error instanceof QueryFailedError ? error.driverError : undefined;
  return Error.isError(failure) && 'code' in failure ? String(failure.code) : '';
}
