import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js';
import type { FaultCode } from '../../problems/problem.js';

/** Maximum length in characters (code points). */
export const MAXIMUM_LENGTH = 2000;

/** Maximum nesting of parentheses, lists and calls. */
const MAXIMUM_DEPTH = 16;

export const TOO_LARGE = 'has a number that does not fit into 64 bits: write one closer to 0';

/** Maximum names, values, operators and calls. */
const MAXIMUM_NODES = 400;

/** Maximum values of one list. */
const MAXIMUM_LIST = 100;

/** A node of the syntax tree, optionally with one of the given operators. */
export type Node<Operator extends ASTNode['op'] = ASTNode['op']> = Extract<ASTNode, { op: Operator }>;

export function isLiteral(node: Node): boolean {
  return (
    node.op === 'value' ||
    (node.op === '-_' && node.args.op === 'value') ||
    (node.op === 'call' && node.args[0] === 'timestamp')
  );
}

export function isNull(node: Node): boolean {
  return node.op === 'value' && node.args === null;
}

/** A part of the expression: zero-based offsets, end exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Stable within `/v1`. */
export type FilterErrorCode = Extract<FaultCode, 'syntax' | 'limit' | 'unknown_field' | 'type' | 'value' | 'unsupported'>;

/** An invalid filter. The message, which follows the word "filter", includes the fix. */
export class FilterError extends Error implements Span {
  override readonly name = 'FilterError';
  readonly start: number;
  readonly end: number;

  constructor(
    readonly code: FilterErrorCode,
    { start, end }: Span,
    message: string,
  ) {
    super(message);
    this.start = start;
    this.end = end;
  }
}

const LIMITS = { maxDepth: MAXIMUM_DEPTH + 1, maxAstNodes: MAXIMUM_NODES, maxListElements: MAXIMUM_LIST };

const LIMIT_MESSAGES: Readonly<Record<keyof typeof LIMITS, string>> = {
  maxDepth: `is nested deeper than ${MAXIMUM_DEPTH} levels: reduce the nesting`,
  maxAstNodes: `has more than ${MAXIMUM_NODES} names, values and operators: make it shorter`,
  maxListElements: `has a list with more than ${MAXIMUM_LIST} values: split it into several requests`,
};

/** Used only to parse: expressions are never evaluated. */
const environment = new Environment({ limits: LIMITS });

/** The syntax tree of a CEL expression. @throws FilterError `syntax`, `limit`, `value` or `unsupported` */
export function parseExpression(expression: string): Node {
  const { length: end } = expression;
  const characters = Array.from(expression);
  if (characters.length > MAXIMUM_LENGTH) {
    const start = characters.slice(0, MAXIMUM_LENGTH).join('').length;
    throw new FilterError('limit', { start, end }, `is longer than ${MAXIMUM_LENGTH} characters: make it shorter`);
  }
  try {
    return environment.parse(expression).ast;
  } catch (error) {
    throw error instanceof ParseError ? filterErrorOf(error, expression) : error;
  }
}

function filterErrorOf({ code, summary, range }: ParseError, expression: string): FilterError {
  const span = range ?? { start: 0, end: expression.length };
  const [, limit] = Object.entries(LIMIT_MESSAGES).find(([name]) => summary.includes(name)) ?? [];
  if (limit !== undefined) {
    return new FilterError('limit', { start: span.start, end: expression.length }, limit);
  }
  if (code === 'bytes_unicode_escape' || isUnread(expression, span)) {
    return new FilterError('unsupported', span, 'uses CEL that filters do not support: see the documentation');
  }
  // A hexadecimal number without digits, `0x`, is a syntax error; all others are too large.
  switch (code === 'invalid_hex_integer' && span.end - span.start > 2 ? 'invalid_integer' : code) {
    case 'invalid_number':
    case 'invalid_integer':
      return new FilterError('value', span, TOO_LARGE);
    case 'limit_exceeded':
    case 'invalid_macro_argument':
      return new FilterError('unsupported', span, 'calls a function that is not supported: see the documentation');
    default:
      return new FilterError('syntax', span, unreadable(code, summary, expression, span));
  }
}

/** Whether CEL that the parser does not know begins here: messages, `.name`, `.5`, raw bytes, raw texts ending in `\`. */
function isUnread(expression: string, { start }: Span): boolean {
  const unread = /(?<=[a-z_]\w*\s*)\{|(?<!\.)\.\w|(?<=\bbr)["']|(?<=\br)(["']).*\\\1|\f|(?:__proto__|prototype)\b/isy;
  unread.lastIndex = start;
  return unread.test(expression);
}

/** Operators of other languages and their equivalents in CEL. */
const REPLACEMENTS: Readonly<Record<string, string>> = {
  '=': '==',
  '&': '&&',
  '|': '||',
  and: '&&',
  or: '||',
  is: '==',
  like: '.contains("…")',
  '“': '"',
  '‘': "'",
};

/** Maximum characters that are quoted: a client may have sent a secret by mistake. */
const LONGEST_QUOTE = 8;

function unreadable(code: string, summary: string, expression: string, { start, end }: Span): string {
  if (start >= expression.length) {
    return 'ends unexpectedly: a value or a closing character is missing';
  }
  if (!['unexpected_character', 'unexpected_token', 'expected_token'].includes(code)) {
    return `has a syntax error: ${summary}`;
  }
  const [first = ''] = expression.slice(start);
  const found = expression.slice(start, Math.max(end, start + first.length));
  const replacement = REPLACEMENTS[found.toLowerCase()];
  const advice = replacement ? `; did you mean \`${replacement}\`?` : '';
  return `has an unexpected ${JSON.stringify(found.slice(0, LONGEST_QUOTE))}${advice}`;
}
