import { type ASTNode, Environment, ParseError } from '@marcbachmann/cel-js';
import { codePoints } from '../../validation/code-points.js';
import { FilterError } from './filter-error.js';
import { describeSyntaxError } from './syntax-advice.js';

/** Characters (code points) of an expression, at most. */
export const MAXIMUM_LENGTH = 2000;

/** Parentheses, lists, calls or negations around one another, at most. */
export const MAXIMUM_DEPTH = 16;

/** How to fix an expression that nests deeper. */
export const TOO_DEEP = `nests deeper than ${MAXIMUM_DEPTH} levels: write it flatter`;

/** Names, values, operators and calls of an expression, at most. */
const MAXIMUM_NODES = 400;

/** Values of one list, at most. */
const MAXIMUM_LIST = 100;

/** A node of the syntax tree, and one of a certain kind. */
export type Node<Operator extends ASTNode['op'] = ASTNode['op']> = Extract<ASTNode, { op: Operator }>;

const LIMITS = { maxDepth: MAXIMUM_DEPTH + 1, maxAstNodes: MAXIMUM_NODES, maxListElements: MAXIMUM_LIST };

const LIMIT_MESSAGES: readonly (readonly [keyof typeof LIMITS, string])[] = [
  ['maxDepth', TOO_DEEP],
  ['maxAstNodes', `has more than ${MAXIMUM_NODES} names, values and operators: make it shorter`],
  ['maxListElements', `has a list of more than ${MAXIMUM_LIST} values: split it into several requests`],
];

/** Only the parser is used; nothing is ever evaluated here. */
const environment = new Environment({ limits: LIMITS });

/**
 * The syntax tree of a CEL expression.
 *
 * @throws FilterError with code `syntax`, `limit` or `unsupported`
 */
export function parseExpression(expression: string): Node {
  if (codePoints(expression) > MAXIMUM_LENGTH) {
    const start = Array.from(expression).slice(0, MAXIMUM_LENGTH).join('').length;
    throw new FilterError(
      'limit',
      { start, end: expression.length },
      `is longer than ${MAXIMUM_LENGTH} characters: make it shorter`,
    );
  }
  try {
    return environment.parse(expression).ast;
  } catch (error) {
    throw error instanceof ParseError ? refuse(error, expression) : error;
  }
}

function refuse(error: ParseError, expression: string): FilterError {
  const { start, end } = error.range ?? { start: 0, end: expression.length };
  const [, limit] = LIMIT_MESSAGES.find(([name]) => error.summary.includes(name)) ?? [];
  if (limit !== undefined) {
    return new FilterError('limit', { start, end: expression.length }, limit);
  }
  if (error.code === 'invalid_number' || error.code === 'invalid_integer') {
    return new FilterError('value', { start, end }, 'has a number that needs more than 64 bits: write one closer to 0');
  }
  if (error.code === 'limit_exceeded' || error.code === 'invalid_macro_argument') {
    return new FilterError('unsupported', { start, end }, 'calls a function that is not supported: see the documentation');
  }
  return new FilterError('syntax', { start, end }, describeSyntaxError(error, { start, end }, expression));
}

/**
 * Whether the parser may read a string literal differently than CEL defines it: a raw literal knows no escapes, so that it
 * ends at its first quote, but the parser lets a backslash keep that quote from ending it.
 */
export function isAmbiguous({ input, start, end }: Node<'value'>): boolean {
  const literal = input.slice(start, end);
  return /^r/i.test(literal) && literal.slice(2, -1).includes(`\\${literal[1]}`);
}
