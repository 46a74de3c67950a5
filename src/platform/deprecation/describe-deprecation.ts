import type { Operation } from '../openapi/operations.js';
import { deprecationHeaders } from './deprecation-headers.js';
import type { Deprecation } from './read-deprecation.js';

/** Day from which on an operation may be gone, `YYYY-MM-DD`. Other tools know it by this name, too. */
const SUNSET_EXTENSION = 'x-sunset';

/** Answers of the guards, which come before the route is known to be deprecated. */
const REFUSALS: ReadonlySet<string> = new Set(['401', '403', '429']);

/** Says of a deprecated operation in the document what its answers say. */
export function describeDeprecation(operation: Operation, deprecation: Deprecation): void {
  const { since, sunset, link } = deprecation;
  const notice = `**Deprecated** since ${dayOf(since)}, and to be removed on ${dayOf(sunset)} or later: see [what to use instead](${link}).`;
  const description = operation.description ? `${notice}\n\n${operation.description}` : notice;
  Object.assign(operation, { deprecated: true, [SUNSET_EXTENSION]: dayOf(sunset), description });
  const headers = describeHeaders(deprecation);
  for (const [status, answer] of Object.entries(operation.responses)) {
    if (answer && !REFUSALS.has(status)) {
      Object.assign(answer, { headers: { ...headers, ...('headers' in answer ? answer.headers : {}) } });
    }
  }
}

function describeHeaders(deprecation: Deprecation) {
  const { Deprecation, Sunset, Link } = deprecationHeaders(deprecation);
  const schema = { type: 'string' };
  return {
    Deprecation: {
      description: 'Since when the operation is deprecated (RFC 9745), in seconds since 1970.',
      schema,
      example: Deprecation,
    },
    Sunset: { description: 'When the operation may be gone (RFC 8594).', schema, example: Sunset },
    Link: { description: 'Leads to what to use instead, with `rel="deprecation"` (RFC 9745).', schema, example: Link },
  };
}

function dayOf(midnight: Date): string {
  return midnight.toISOString().slice(0, 10);
}
