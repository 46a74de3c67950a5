/** Whether percent signs in a text encode valid UTF-8 (RFC 3986, section 2.1). */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
