/**
 * Whether a text fits into a line of the log and of a terminal: no control characters, none that turn the direction of writing,
 * no ends of lines, and not nothing.
 *
 * @param longest - in characters (code points)
 */
export function isPrintableLine(text: string, longest: number): boolean {
  return text.isWellFormed() && /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(text) && Array.from(text).length <= longest;
}
