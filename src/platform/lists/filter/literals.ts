import { UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { FilterError } from './filter-error.js';
import { isAmbiguous, type Node } from './parse-expression.js';
import { parseTimestamp } from '../../time/timestamp.js';
import { MAXIMUM_INT, MINIMUM_INT } from './place.js';

/** A value that is written out, even one of a type that no field has. */
export function isLiteral(node: Node): boolean {
  return (
    node.op === 'value' || (node.op === '-_' && node.args.op === 'value') || (node.op === 'call' && node.args[0] === 'timestamp')
  );
}

export function isNull(node: Node): boolean {
  return node.op === 'value' && node.args === null;
}

/** The text that a literal is, if it is one. */
export function textIn(literal: Node): string | undefined {
  if (literal.op !== 'value' || typeof literal.args !== 'string') {
    return undefined;
  }
  if (isAmbiguous(literal)) {
    throw new FilterError(
      'unsupported',
      literal,
      'has a raw text with a backslash before a quote: leave out the r and double the backslash',
    );
  }
  if (literal.args.includes('\0')) {
    throw new FilterError('value', literal, 'has a text with U+0000, which no text here contains: leave it out');
  }
  return literal.args;
}

/** The number that a literal is, if it is one: an `int` or a `uint` as a bigint, a `double` as a number. */
export function numberIn(literal: Node): bigint | number | undefined {
  const isNegative = literal.op === '-_';
  const { op, args: value } = isNegative ? literal.args : literal;
  if (op !== 'value') {
    return undefined;
  }
  if (value instanceof UnsignedInt) {
    if (isNegative) {
      throw new FilterError('type', literal, 'has a negative number that ends in u: leave the u out');
    }
    return value.value;
  }
  if (typeof value === 'bigint') {
    const int = isNegative ? -value : value;
    if (int > MAXIMUM_INT || int < MINIMUM_INT) {
      throw new FilterError('value', literal, 'has a number that needs more than 64 bits: write one closer to 0');
    }
    return int;
  }
  return typeof value === 'number' ? value * (isNegative ? -1 : 1) : undefined;
}

/** Whether a literal is true, if it is true or false. */
export function truthIn(literal: Node): boolean | undefined {
  return literal.op === 'value' && typeof literal.args === 'boolean' ? literal.args : undefined;
}

/** The moment that `timestamp("…")` is, if a literal is that. */
export function nanosecondsIn(literal: Node, example: string): bigint | undefined {
  if (literal.op !== 'call') {
    return undefined;
  }
  const [, [parameter, ...more]] = literal.args;
  const text = parameter && textIn(parameter);
  if (text === undefined || more.length > 0) {
    throw new FilterError('type', literal, `must give timestamp one text: write \`${example}\``);
  }
  const nanoseconds = parseTimestamp(text);
  if (nanoseconds === undefined) {
    throw new FilterError('value', parameter ?? literal, `has a time that is not RFC 3339 with a zone: write \`${example}\``);
  }
  return nanoseconds;
}
