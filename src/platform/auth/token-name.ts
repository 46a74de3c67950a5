import { isPrintableLine } from './printable-line.js';

/** What a name must be, to be read after "Write". */
export const TOKEN_NAME_RULE = '1 to 100 printable characters';

/** Whether a text can name a token: it fits into a line of `token list`, and people can read it. */
export function isTokenName(text: string): boolean {
  return isPrintableLine(text, 100) && text.trim() !== '';
}
