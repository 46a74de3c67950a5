import { SERVICE_NAME } from '../service/service.js';

/** An access token, also truncated, mistyped or percent-encoded. */
const ACCESS_TOKEN = new RegExp(String.raw`${SERVICE_NAME}(?:[_.~-]|%[0-9A-F]{2})[0-9A-Za-z]{24,}`, 'gi');

/**
 * A signed or encrypted JWT (RFC 7519, section 3), also percent-encoded (which leaves its dots), and text joined to it. The
 * look-behind keeps the time of a search linear.
 */
const COMPACT = /(?<![\w%-])[\w%-]+(?:\.[\w%-]*){2,}/g;

/** The start of a JWT header: `{"` in base64url. */
const HEADER = 'eyJ';

/** Masks access tokens and JWTs in a text: clients also send them by mistake, for example in a path. */
export function hideCredentials(text: string): string {
  const rest = text.replaceAll(ACCESS_TOKEN, '***');
  return rest.includes(HEADER) ? rest.replaceAll(COMPACT, (found) => (found.includes(HEADER) ? '***' : found)) : rest;
}

/** Maximum characters of a path in the log and in problems. */
const PATH_LIMIT = 256;

/** The end of a cut text that may be an incomplete percent-encoded character or surrogate pair. */
const CUT_CHARACTER = /(?:%[c-f].(?:%[89ab].)*)?(?:%.?|[\ud800-\udbff])?$/is;

/** A path as it is logged and sent back: without credentials, and cut after {@link PATH_LIMIT} characters. */
export function shownPath(path: string): string {
  const shown = hideCredentials(path);
  return shown.length > PATH_LIMIT ? shown.slice(0, PATH_LIMIT).replace(CUT_CHARACTER, '') : shown;
}
