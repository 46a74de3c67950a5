import type { ParseError } from '@marcbachmann/cel-js';
import type { Span } from './filter-error.js';

/** What people write who know other languages, and what CEL has for it. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  '=': '`==`',
  '<>': '`!=`',
  '&': '`&&`',
  '|': '`||`',
  and: '`&&`',
  or: '`||`',
  not: '`!`',
  is: '`==`',
  eq: '`==`',
  ne: '`!=`',
  like: '`.contains("…")`',
  contains: '`.contains("…")`',
  '“': 'straight quotes, `"`',
  '”': 'straight quotes, `"`',
  '‘': "straight quotes, `'`",
  '’': "straight quotes, `'`",
  '`': "straight quotes, `'`",
};

/** What is quoted of an expression at most, in characters: `start` and `end` show the place, and there may be a secret in it. */
const LONGEST_QUOTE = 8;

/** How to fix an expression that the parser could not read, to be read after the word "filter". */
export function describeSyntaxError(error: ParseError, { start, end }: Span, expression: string): string {
  if (error.code === 'unterminated_string' || error.code === 'unterminated_triple_quoted_string') {
    const isRaw = /\br$/i.test(expression.slice(0, start).slice(-2));
    const advice = isRaw ? '; in a raw text no backslash may stand before a quote' : '';
    return `has a text that is not closed: end it with the quote that begins it${advice}`;
  }
  if (error.code === 'newline_in_string') {
    return String.raw`has a line break in a text: write \n for it`;
  }
  if (start >= expression.length) {
    return 'ends too soon: something is missing at its end';
  }
  if (error.code !== 'unexpected_character' && error.code !== 'unexpected_token' && error.code !== 'expected_token') {
    return `cannot be read: ${error.summary}`;
  }
  const found = foundAt(expression, start, end);
  const replacement = REPLACEMENTS[found.toLowerCase()];
  return `cannot be read from ${quote(found)} on${replacement ? `; did you mean ${replacement}?` : ''}`;
}

/** What stands where the parser stopped, or what misled it just before. */
function foundAt(expression: string, start: number, end: number): string {
  if (expression.slice(start - 1, start + 1) === '<>') {
    return '<>';
  }
  const [not] = /\bnot$/i.exec(expression.slice(0, start).trimEnd().slice(-4)) ?? [];
  return not ?? expression.slice(start, Math.max(end, start + String.fromCodePoint(expression.codePointAt(start) ?? 0).length));
}

function quote(text: string): string {
  const characters = Array.from(text);
  const isLong = characters.length > LONGEST_QUOTE;
  return JSON.stringify(isLong ? `${characters.slice(0, LONGEST_QUOTE).join('')}…` : text);
}
