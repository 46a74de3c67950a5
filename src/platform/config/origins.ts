/** Whether a text is the origin of a website as browsers send it (RFC 6454, section 6.2): its scheme, host and port. */
export function isOrigin(text: string): boolean {
  // URLs also accept hosts such as `*.example`.
  return /^https?:\/\/(?:[\w.-]+|\[[\da-f:]+\])(?::\d+)?$/.test(text) && URL.parse(text)?.origin === text;
}

/** Whether a text is an origin, and a path of plain characters that needs no escaping anywhere. */
export function isPublicUrl(text: string): boolean {
  const { origin = '', pathname } = URL.parse(text) ?? {};
  const path = text.slice(origin.length);
  return isOrigin(origin) && text.startsWith(origin) && /^(?:\/[\w.~-]+)*$/.test(path) && pathname === (path || '/');
}

/** The path of a public URL, which precedes all paths of the service: `/catalog`, or nothing. */
export function pathPrefixOf(url = '/'): string {
  return new URL(url, 'http://localhost').pathname.replace(/\/$/, '');
}
