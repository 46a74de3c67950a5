import { parse, type ParsedUrlQuery } from 'node:querystring';
import { invalidRequest } from './invalid-request.js';
import { isDecodable } from './percent-encoding.js';

/** Parameters that a query may have. Naming the faults of thousands would take longer than all else of a request. */
const MAX_PARAMETERS = 50;

/**
 * The parameters of a query, each given once.
 *
 * @param text - what follows the `?`; null without one
 * @throws Problem `invalid-parameters` when one is given twice or is not percent-encoded UTF-8, which Node would read as something
 *   else, or when there are more than {@link MAX_PARAMETERS}
 */
export function parseQueryString(text: string | null): ParsedUrlQuery {
  const pairs = (text ?? '').split('&').filter(Boolean);
  if (pairs.length > MAX_PARAMETERS) {
    throw invalidRequest([{ parameter: '', code: 'too_many', detail: `must have at most ${MAX_PARAMETERS} parameters` }]);
  }
  const malformed = pairs.filter((pair) => !isDecodable(pair));
  if (malformed.length > 0) {
    const detail = 'must be percent-encoded UTF-8: write %25 for a percent sign';
    throw invalidRequest(malformed.map((pair) => ({ parameter: pair.split('=', 1).join(), code: 'encoding', detail })));
  }
  const query = parse(pairs.join('&'));
  const repeated = Object.keys(query).filter((name) => Array.isArray(query[name]));
  if (repeated.length > 0) {
    const detail = 'is given more than once: keep one';
    throw invalidRequest(repeated.map((name) => ({ parameter: name, code: 'repeated', detail })));
  }
  return query;
}
