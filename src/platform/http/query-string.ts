import { parse, type ParsedUrlQuery } from 'node:querystring';
import { invalidRequest } from './invalid-request.js';
import { isDecodable } from './percent-encoding.js';

/** Parameters that a query may have. Naming the faults of thousands would take longer than all else of a request. */
const MAX_PARAMETERS = 50;

/**
 * The parameters of a query.
 *
 * @param text - what follows the `?`; null without one
 * @throws Problem `invalid-parameters` when there are more than {@link MAX_PARAMETERS}
 */
export function parseQueryString(text: string | null): ParsedUrlQuery {
  if (text === null) {
    return {};
  }
  if (text.split('&').filter(Boolean).length > MAX_PARAMETERS) {
    throw invalidRequest([{ parameter: '', code: 'too_many', detail: `must have at most ${MAX_PARAMETERS} parameters` }]);
  }
  return parse(text, '&', '=', { maxKeys: 0 });
}

/**
 * The parameters, as they are written, that are not percent-encoded UTF-8, which Node would read as something else.
 *
 * @param url - target of a request
 */
export function malformedParameters(url: string): string[] {
  const start = url.indexOf('?');
  const pairs = start === -1 ? [] : url.slice(start + 1).split('&');
  return pairs.filter((pair) => !isDecodable(pair)).map((pair) => pair.split('=', 1).join());
}
