import { parse, type ParsedUrlQuery } from 'node:querystring';
import { isDecodable } from './percent-encoding.js';

/** All parameters of a query: Node by itself stops at the thousandth. The length of a URL is bounded anyway. */
export function parseQueryString(text: string): ParsedUrlQuery {
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
