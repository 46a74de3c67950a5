import { decodeCursor } from './cursor.ts';
import { invalidParameter, type Problem } from './problems.ts';

const DEFAULT = 20;
const MAXIMUM = 100;

export interface PageQuery {
  readonly limit: number;
  /** Key of the last row of the page before. */
  readonly after: string | undefined;
  /** What names begin with. */
  readonly prefix: string | undefined;
  /** As the client wrote it. */
  readonly filter: string;
}

/** The only filter that the workloads use, and thus the only one that is known here. */
const FILTER = /^name\.startsWith\("([^"\\]*)"\)$/;

/**
 * Checks the query of a request.
 *
 * @param parameters - as Node and the frameworks parse them: given twice, they are an array
 */
export function readPageQuery(parameters: Readonly<Record<string, unknown>>): PageQuery | Problem {
  for (const [name, value] of Object.entries(parameters)) {
    if (name !== 'limit' && name !== 'cursor' && name !== 'filter') {
      return invalidParameter(name, 'unknown', 'is not known');
    }
    if (typeof value !== 'string') {
      return invalidParameter(name, 'repeated', 'is given more than once: keep one');
    }
  }
  const { limit = String(DEFAULT), cursor, filter = '' } = parameters as Record<string, string | undefined>;
  if (!/^[1-9][0-9]{0,2}$/.test(limit) || Number(limit) > MAXIMUM) {
    return invalidParameter('limit', 'range', `must be a whole number from 1 to ${MAXIMUM}, in plain digits`);
  }
  const prefix = FILTER.exec(filter)?.[1];
  if (filter !== '' && prefix === undefined) {
    return invalidParameter('filter', 'unsupported', 'is not known here');
  }
  const after = cursor === undefined ? undefined : decodeCursor(cursor, filter);
  if (cursor !== undefined && after === undefined) {
    return invalidParameter('cursor', 'cursor', 'must be the nextCursor of a list with the same filter, unchanged');
  }
  return { limit: Number(limit), after, prefix, filter };
}
