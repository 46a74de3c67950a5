/** Whether a text is percent-encoded UTF-8 (RFC 3986, section 2.1), as far as it is encoded at all. */
export function isDecodable(text: string): boolean {
  if (!text.includes('%')) {
    return true;
  }
  try {
    // Its value is used: the bundler drops a call that seems to have no effect.
    return typeof decodeURIComponent(text) === 'string';
  } catch {
    return false;
  }
}
