import { FilterError } from './filter-error.js';
import { type NamedField, NOTATION } from './filter-fields.js';
import { isAmbiguous, type Node } from './parse-expression.js';
import { type Moment, parseTimestamp } from './timestamp.js';

/** Canonical text form of a UUID (RFC 9562, section 4), in either case. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A value that is written out, even one of a type that no field has. */
export function isLiteral(node: Node): boolean {
  return (
    node.op === 'value' || (node.op === '-_' && node.args.op === 'value') || (node.op === 'call' && node.args[0] === 'timestamp')
  );
}

export function isNull(node: Node): boolean {
  return node.op === 'value' && node.args === null;
}

/** The value of a field of text or UUIDs. */
export function valueOf(literal: Node, reference: NamedField): string {
  const text = textOf(literal, reference);
  if (reference.type === 'string') {
    return text;
  }
  if (!UUID.test(text)) {
    throw new FilterError('value', literal, `compares ${reference.name} with what is no UUID: write ${NOTATION.uuid.example}`);
  }
  return text.toLowerCase();
}

/** The text that a literal is. */
export function textOf(literal: Node, { name, type }: NamedField): string {
  if (literal.op !== 'value' || typeof literal.args !== 'string') {
    const { noun, example } = NOTATION[type];
    const source = sourceOf(literal);
    const asText = literal.op === 'value' && /^(?!null$)[\w.-]+$/.test(source) ? `"${source}"` : example;
    throw new FilterError('type', literal, `compares ${name}, which is ${noun}, with something else: write ${asText}`);
  }
  return stringOf(literal, literal.args);
}

/** The moment that a literal is. */
export function momentOf(literal: Node): Moment {
  if (literal.op !== 'call') {
    const text = literal.op === 'value' && typeof literal.args === 'string' ? literal.args : '';
    const advice = parseTimestamp(text) ? `timestamp("${text}")` : 'timestamp("…")';
    throw new FilterError('type', literal, `compares a time with something else: write \`${advice}\``);
  }
  const [, [parameter, ...more]] = literal.args;
  if (parameter?.op !== 'value' || typeof parameter.args !== 'string' || more.length > 0) {
    throw new FilterError('type', literal, `must give timestamp one text: write \`${NOTATION.creationTime.example}\``);
  }
  const moment = parseTimestamp(stringOf(parameter, parameter.args));
  if (!moment) {
    throw new FilterError(
      'value',
      parameter,
      `has a time that is not RFC 3339 with a zone: write \`${NOTATION.creationTime.example}\``,
    );
  }
  return moment;
}

function stringOf(literal: Node<'value'>, text: string): string {
  if (isAmbiguous(literal)) {
    throw new FilterError(
      'unsupported',
      literal,
      'has a raw text with a backslash before a quote: leave out the r and double the backslash',
    );
  }
  if (text.includes('\0')) {
    throw new FilterError('value', literal, 'has a text with U+0000, which no text here contains: leave it out');
  }
  return text;
}

function sourceOf({ input, start, end }: Node): string {
  return input.slice(start, end);
}
