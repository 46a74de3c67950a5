import { FilterError } from './filter-error.js';
import type { NamedField } from './filter-fields.js';
import { nanosecondsIn, numberIn, textIn, truthIn } from './literals.js';
import { closest } from './unsupported.js';
import { notationOf, quoted } from './notation.js';
import type { Node } from './parse-expression.js';
import { amongDoubles, amongInts, exactly, MICROSECOND, onClock, type Place } from './place.js';
import { parseTimestamp } from '../../time/timestamp.js';
import { isUuid } from '../../database/id.js';

/**
 * The value that a field is compared with, as PostgreSQL reads it, in its place among those that the field's column keeps.
 *
 * @throws FilterError when a literal is none for the field
 */
export function valueOf(literal: Node, field: NamedField): Place<string> {
  switch (field.type) {
    case 'string':
      return exactly(textOf(literal, field));
    case 'uuid':
      return exactly(uuidOf(literal, field));
    case 'enum':
      return exactly(choiceOf(literal, field));
    case 'bool':
      return exactly(String(truthIn(literal) ?? refuse(literal, field)));
    case 'int':
      return asText(amongInts(numberIn(literal) ?? refuse(literal, field)));
    case 'double':
      return asText(amongDoubles(numberIn(literal) ?? refuse(literal, field)));
    case 'timestamp':
    case 'creationTime': {
      const { floor, exact } = onClock(momentOf(literal, field), MICROSECOND);
      return { floor: new Temporal.Instant(floor).toString({ fractionalSecondDigits: 6 }), exact };
    }
  }
}

/** The text that a literal is. */
export function textOf(literal: Node, field: NamedField): string {
  return textIn(literal) ?? refuse(literal, field);
}

/** The nanoseconds since 1970 of the moment that a literal is. */
export function momentOf(literal: Node, field: NamedField): bigint {
  return nanosecondsIn(literal, notationOf(field).example) ?? refuse(literal, field);
}

function uuidOf(literal: Node, field: NamedField): string {
  const text = textOf(literal, field);
  if (!isUuid(text)) {
    throw new FilterError('value', literal, `compares ${field.name} with what is no UUID: write ${notationOf(field).example}`);
  }
  return text.toLowerCase();
}

function choiceOf(literal: Node, field: NamedField): string {
  const { name, values = [] } = field;
  const text = textOf(literal, field);
  if (!values.includes(text)) {
    const similar = closest(text, values);
    const advice = similar === undefined ? `: there are ${quoted(values)}` : `; did you mean ${quoted([similar])}?`;
    throw new FilterError('value', literal, `compares ${name} with ${quoted([text])}, which it never is${advice}`);
  }
  return text;
}

function asText({ floor, exact }: Place<bigint | number>): Place<string> {
  return { floor: String(floor), exact };
}

/** @throws FilterError for a literal of another type than the field's */
function refuse(literal: Node, field: NamedField): never {
  const { noun } = notationOf(field);
  throw new FilterError(
    'type',
    literal,
    `compares ${field.name}, which is ${noun}, with something else: write ${meant(literal, field)}`,
  );
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
