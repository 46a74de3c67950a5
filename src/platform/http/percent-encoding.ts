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
