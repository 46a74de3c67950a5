/** Whether a text is percent-encoded UTF-8 (RFC 3986, section 2.1), as far as it is encoded at all. */
export function isDecodable(text: string): boolean {
  if (!text.includes('%')) {
    return true;
  }
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** What may stand in the path of a URI as it is (RFC 3986, section 3.3), and what encodes anything else. */
const NOT_OF_A_PATH = /[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]/gu;

/** A path as a URI can have it: clients send paths that are none, and get them back as a part of JSON that must be one. */
export function encodePath(path: string): string {
  return path.replaceAll(NOT_OF_A_PATH, encodeURIComponent);
}
