import { closestMatch } from 'leven';
import { type Operand, TEXT_SEARCHES } from './condition.js';
import { type FilterFields, notationOf } from './filter-fields.js';
import { FilterError, isLiteral, type Node } from './parse-expression.js';

const FUNCTIONS = [...TEXT_SEARCHES, 'lowerAscii', 'timestamp'];

/** The field that a part of an expression names. @throws FilterError `unknown_field`, `type` or `unsupported` */
export function operandOf(node: Node, fields: FilterFields): Operand {
  if (node.op === 'rcall' && node.args[0] === 'lowerAscii') {
    const [, subject, parameters] = node.args;
    const operand = operandOf(subject, fields);
    if (operand.type !== 'string' || parameters.length > 0) {
      throw new FilterError('type', node, 'must call lowerAscii on a text field: write `name.lowerAscii()`');
    }
    return { ...operand, lowerAscii: true };
  }
  if (node.op !== 'id') {
    throw unsupported(node);
  }
  const name = node.args;
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (!field) {
    throw new FilterError('unknown_field', node, `has the unknown field ${name}${adviceFor(name, Object.keys(fields))}`);
  }
  return { ...field, name, lowerAscii: false };
}

/** @throws FilterError unless the node is a literal */
export function requireLiteral(node: Node, operand: Operand, fields: FilterFields): void {
  requireSimple(node, operand, fields);
  if (node.op === 'id') {
    throw unsupported(node);
  }
}

/** @throws FilterError unless the node is a literal or a field */
export function requireSimple(node: Node, operand: Operand, fields: FilterFields): void {
  if (node.op === 'id' && !Object.hasOwn(fields, node.args)) {
    const { noun, example } = notationOf(operand);
    const message = `has the unknown field ${node.args}; ${operand.name} is ${noun}, written \`${example}\``;
    throw new FilterError('unknown_field', node, message);
  }
  const parts = isLiteral(node) && node.op === 'call' ? node.args[1] : [node];
  const computed = parts.find((part) => part.op !== 'id' && !isLiteral(part));
  if (computed) {
    throw unsupported(computed);
  }
}

function unsupported(node: Node): FilterError {
  const called = node.op === 'call' || node.op === 'rcall' ? node.args[0] : undefined;
  const message =
    called === undefined || FUNCTIONS.includes(called)
      ? 'uses CEL that filters do not support: compare a field with a value, as in `name == "…"`, or search it, as in ' +
        '`name.contains("…")`'
      : `calls ${called}, which is not supported${adviceFor(called, FUNCTIONS)}`;
  return new FilterError('unsupported', node, message);
}

/** Suggests the most similar name, which may differ in a third of its characters, or lists all names. */
function adviceFor(name: string, names: readonly string[]): string {
  const similar = closestMatch(name, names, { maxDistance: Math.ceil(name.length / 3) });
  return similar ? `; did you mean ${similar}?` : `: use one of ${names.join(', ')}`;
}
