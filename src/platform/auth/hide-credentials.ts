const HIDDEN = '***';

/** An access token, also truncated, mistyped or percent-encoded. */
const ACCESS_TOKEN = /items(?:[_.~-]|%[0-9A-F]{2})[0-9A-Za-z]{24,}/gi;

/** A signed or encrypted JWT (RFC 7519, section 3), also percent-encoded, and text joined to it. The look-behind keeps this linear. */
const COMPACT = /(?<![\w%-])[\w%-]+(?:\.[\w%-]*){2,}/g;

/** `{"` in base64url, the start of a JWT header. */
const HEADER = 'eyJ';

/** Masks access tokens and JWTs in a text: clients also send them by mistake, for example in a path. */
export function hideCredentials(text: string): string {
  const rest = text.replaceAll(ACCESS_TOKEN, HIDDEN);
  return rest.includes(HEADER) ? rest.replaceAll(COMPACT, (found) => (found.includes(HEADER) ? HIDDEN : found)) : rest;
}
