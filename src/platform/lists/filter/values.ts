import { UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { isUuid } from '../../database/id.js';
import { MILLISECOND, parseTimestamp } from '../../time/timestamp.js';
import type { Comparison } from './condition.js';
import { type NamedField, notationOf, quoted } from './filter-fields.js';
import { FilterError, type Node, TOO_LARGE } from './parse-expression.js';
import { closest } from './unsupported.js';

/** The whole numbers that CEL has. */
const MAXIMUM_INT = 2n ** 63n - 1n;
const MINIMUM_INT = -(2n ** 63n);

/** The clock of PostgreSQL, in nanoseconds. */
const MICROSECOND = 1_000n;

/** The value that a field is compared with, or a neighbour of it where the field's column cannot keep it. */
export interface Value {
  /** As PostgreSQL reads it. */
  readonly text: string;
  /** Where the value lies: at `text` (0), after it (1) or before it (-1), with nothing between that the column can keep. */
  readonly side: -1 | 0 | 1;
}

/** The operator for the text of a value; undefined where it equals nothing that the column can keep. */
export function operatorFor({ side }: Value, operator: Comparison): Comparison | undefined {
  if (side === 0) {
    return operator;
  }
  switch (operator) {
    case '<':
    case '<=':
      return side > 0 ? '<=' : '<';
    case '>':
    case '>=':
      return side > 0 ? '>' : '>=';
    default:
      return undefined;
  }
}

/** @throws FilterError when a literal is no value for the field */
export function valueOf(literal: Node, field: NamedField): Value {
  const value = read(literal, field);
  if (value === undefined) {
    const { name } = field;
    const message = `compares ${name}, which is ${notationOf(field).noun}, with something else: write ${meant(literal, field)}`;
    throw new FilterError('type', literal, message);
  }
  return typeof value === 'string' ? { text: value, side: 0 } : value;
}

function read(literal: Node, field: NamedField): Value | string | undefined {
  switch (field.type) {
    case 'string':
      return textIn(literal);
    case 'uuid':
      return uuidIn(literal, field);
    case 'enum':
      return choiceIn(literal, field);
    case 'bool':
      return literal.op === 'value' && typeof literal.args === 'boolean' ? String(literal.args) : undefined;
    case 'int':
      return besideInt(numberIn(literal));
    case 'double':
      return besideDouble(numberIn(literal));
    case 'timestamp':
      return besideTick(nanosecondsIn(literal, field), MICROSECOND);
    case 'creationTime':
      return besideTick(nanosecondsIn(literal, field), MILLISECOND);
  }
}

function textIn(literal: Node): string | undefined {
  if (literal.op !== 'value' || typeof literal.args !== 'string') {
    return undefined;
  }
  if (isAmbiguous(literal)) {
    const message = 'has a raw text with a backslash before a quote: leave out the r and double the backslash';
    throw new FilterError('unsupported', literal, message);
  }
  if (literal.args.includes('\0')) {
    throw new FilterError('value', literal, 'has a text with U+0000, which no text here contains: leave it out');
  }
  return literal.args;
}

/** A raw text knows no escapes and ends at its first quote, but the parser lets a backslash keep that quote from ending it. */
function isAmbiguous({ input, start, end }: Node<'value'>): boolean {
  const literal = input.slice(start, end);
  return /^r/i.test(literal) && literal.slice(2, -1).includes(`\\${literal[1]}`);
}

function uuidIn(literal: Node, field: NamedField): string | undefined {
  const text = textIn(literal);
  if (text !== undefined && !isUuid(text)) {
    throw new FilterError('value', literal, `compares ${field.name} with what is no UUID: write ${notationOf(field).example}`);
  }
  return text?.toLowerCase();
}

function choiceIn(literal: Node, { name, values = [] }: NamedField): string | undefined {
  const text = textIn(literal);
  if (text !== undefined && !values.includes(text)) {
    const similar = closest(text, values);
    const advice = similar === undefined ? `: there are ${quoted(values)}` : `; did you mean ${quoted([similar])}?`;
    throw new FilterError('value', literal, `compares ${name} with ${quoted([text])}, which it never is${advice}`);
  }
  return text;
}

/** An `int` or a `uint` as a bigint, a `double` as a number. */
function numberIn(literal: Node): bigint | number | undefined {
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
      throw new FilterError('value', literal, TOO_LARGE);
    }
    return int;
  }
  return typeof value === 'number' ? value * (isNegative ? -1 : 1) : undefined;
}

/** Columns of whole numbers have 32 bits at most: none keeps the first or the last number of 64 bits. */
function besideInt(number: bigint | number | undefined): Value | undefined {
  if (number === undefined) {
    return undefined;
  }
  const whole = typeof number === 'bigint' ? number : BigInt(Math.floor(number));
  if (whole > MAXIMUM_INT) {
    return { text: String(MAXIMUM_INT), side: 1 };
  }
  return whole < MINIMUM_INT
    ? { text: String(MINIMUM_INT), side: -1 }
    : { text: String(whole), side: typeof number === 'bigint' || Number.isInteger(number) ? 0 : 1 };
}

/** Not each whole number beyond 2^53 is a double. */
function besideDouble(number: bigint | number | undefined): Value | undefined {
  if (typeof number !== 'bigint') {
    return number === undefined ? undefined : { text: String(number), side: 0 };
  }
  const nearest = BigInt(Number(number));
  return { text: String(Number(number)), side: nearest === number ? 0 : nearest < number ? 1 : -1 };
}

/** @param tick - of a clock, in nanoseconds */
function besideTick(nanoseconds: bigint | undefined, tick: bigint): Value | undefined {
  if (nanoseconds === undefined) {
    return undefined;
  }
  const since = ((nanoseconds % tick) + tick) % tick;
  const text = new Temporal.Instant(nanoseconds - since).toString({ fractionalSecondDigits: 6 });
  return { text, side: since === 0n ? 0 : 1 };
}

/** The nanoseconds since 1970 of `timestamp("…")`. */
function nanosecondsIn(literal: Node, field: NamedField): bigint | undefined {
  if (literal.op !== 'call') {
    return undefined;
  }
  const { example } = notationOf(field);
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

/** What was probably meant, or how a value is written. */
function meant(literal: Node, field: NamedField): string {
  const { example } = notationOf(field);
  const source = literal.input.slice(literal.start, literal.end);
  const text = literal.op === 'value' && typeof literal.args === 'string' ? literal.args : '';
  switch (field.type) {
    case 'string':
      return literal.op === 'value' && /^(?!null$)[\w.-]+$/.test(source) ? `"${source}"` : example;
    case 'int':
    case 'double':
      return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? text : example;
    case 'bool':
      return /^(?:true|false)$/i.test(text) ? text.toLowerCase() : example;
    case 'timestamp':
    case 'creationTime':
      return `\`${parseTimestamp(text) === undefined ? 'timestamp("…")' : `timestamp("${text}")`}\``;
    default:
      return example;
  }
}
