import { UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { isUuid } from '../../ids/id.js';
import type { Operand } from './condition.js';
import { type FilterFields, notationOf } from './filter-fields.js';
import { requireLiteral } from './operands.js';
import { FilterError, type Node, TOO_LARGE } from './parse-expression.js';

/** A value to compare a field with. */
export interface Value {
  /** PostgreSQL's text form. */
  readonly text: string;
  /** Whether the column cannot represent the value: `text` is then the next lower value that it can. */
  readonly isRounded?: boolean;
}

/** Outside the range of all integer columns, which have at most 32 bits. */
const BEYOND_INTEGERS = 2 ** 40;

/** @throws FilterError if the node is not a value of the field */
export function valueOf(literal: Node, field: Operand, fields: FilterFields): Value {
  requireLiteral(literal, field, fields);
  const value = read(literal, field);
  if (value === undefined) {
    const { noun, example } = notationOf(field);
    const message = `compares ${field.name}, which is ${noun}, with a value of another type: write \`${example}\``;
    throw new FilterError('type', literal, message);
  }
  return value;
}

function read(literal: Node, field: Operand): Value | undefined {
  switch (field.type) {
    case 'string':
    case 'uuid':
    case 'enum':
      return textIn(literal, field);
    case 'bool':
      return literal.op === 'value' && typeof literal.args === 'boolean' ? { text: String(literal.args) } : undefined;
    case 'int':
      return wholeNumberIn(literal);
    case 'double': {
      const number = numberIn(literal);
      return number === undefined ? undefined : { text: String(number) };
    }
    case 'timestamp':
    case 'creationTime':
      return timeIn(literal, field);
  }
}

function textIn(literal: Node, field: Operand): Value | undefined {
  if (literal.op !== 'value' || typeof literal.args !== 'string') {
    return undefined;
  }
  const text = literal.args;
  if (text.includes('\0')) {
    throw new FilterError('value', literal, 'contains U+0000, which no stored text contains: remove it');
  }
  if ((field.type === 'uuid' && !isUuid(text)) || (field.type === 'enum' && !field.values?.includes(text))) {
    throw notOfType(literal, field);
  }
  return { text };
}

function notOfType(literal: Node, field: Operand): FilterError {
  const { noun, example } = notationOf(field);
  return new FilterError('value', literal, `compares ${field.name} with a text that is not ${noun}: write \`${example}\``);
}

function wholeNumberIn(literal: Node): Value | undefined {
  const number = numberIn(literal);
  if (number === undefined) {
    return undefined;
  }
  const near = Math.min(Math.max(number, -BEYOND_INTEGERS), BEYOND_INTEGERS);
  return { text: String(Math.floor(near)), isRounded: !Number.isInteger(near) };
}

function numberIn(literal: Node): number | undefined {
  const isNegative = literal.op === '-_';
  const { op, args: value } = isNegative ? literal.args : literal;
  if (op !== 'value') {
    return undefined;
  }
  const sign = isNegative ? -1 : 1;
  if (typeof value === 'bigint') {
    const int = value * BigInt(sign);
    if (BigInt.asIntN(64, int) !== int) {
      throw new FilterError('value', literal, TOO_LARGE);
    }
    return Number(int);
  }
  if (value instanceof UnsignedInt) {
    return isNegative ? undefined : Number(value.value);
  }
  return typeof value === 'number' ? value * sign : undefined;
}

function timeIn(literal: Node, field: Operand): Value | undefined {
  if (literal.op !== 'call') {
    return undefined;
  }
  const [, [parameter, ...more]] = literal.args;
  if (parameter?.op !== 'value' || typeof parameter.args !== 'string' || more.length > 0) {
    throw new FilterError('type', literal, `must call timestamp with one text: write \`${notationOf(field).example}\``);
  }
  const time = parseTimestamp(parameter.args);
  if (!time) {
    throw notOfType(parameter, field);
  }
  const smallestUnit = field.type === 'timestamp' ? 'microsecond' : 'millisecond';
  const kept = time.round({ smallestUnit, roundingMode: 'floor' });
  return { text: kept.toString(), isRounded: !kept.equals(time) };
}

/** RFC 3339, section 5.6, with at most nanoseconds, as in CEL. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** Parses the text of CEL's `timestamp("…")`. @returns undefined unless it is an RFC 3339 time with zone in CEL's range */
export function parseTimestamp(text: string): Temporal.Instant | undefined {
  if (!RFC_3339.test(text)) {
    return undefined;
  }
  try {
    const instant = Temporal.Instant.from(text);
    // CEL allows the years 1 to 9999 in UTC.
    return /^(?!0000)\d{4}-/.test(instant.toString()) ? instant : undefined;
  } catch {
    return undefined;
  }
}
