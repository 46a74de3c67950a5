import type { Operand } from './condition.js';
import { FilterError } from './filter-error.js';
import type { FilterFields, NamedField } from './filter-fields.js';
import { closest, isSearch, unknownFunction, unsupported } from './unsupported.js';
import { notationOf } from './notation.js';
import type { Node } from './parse-expression.js';

/** A field as it stands in an expression. */
export interface Reference extends NamedField {
  readonly lowerAscii: boolean;
}

/**
 * The field that a node stands for.
 *
 * @throws FilterError when it stands for none
 */
export function referenceTo(node: Node, fields: FilterFields): Reference {
  if (node.op === 'rcall' && node.args[0] === 'lowerAscii') {
    const [name, subject, parameters] = node.args;
    const reference = referenceTo(subject, fields);
    if (reference.type !== 'string' || parameters.length > 0) {
      throw new FilterError('type', node, `must use ${name} on a field of text and give it nothing: write \`name.${name}()\``);
    }
    return { ...reference, lowerAscii: true };
  }
  if (node.op === 'rcall' && !isSearch(node.args[0])) {
    throw unknownFunction(node.args[0], node);
  }
  if (node.op !== 'id') {
    throw unsupported(node);
  }
  const name = node.args;
  const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (!field) {
    const names = Object.keys(fields);
    const similar = closest(name, names);
    const advice = similar ? `; did you mean ${similar}?` : `: there are ${names.join(', ')}`;
    throw new FilterError('unknown_field', node, `knows no field ${name}${advice}`);
  }
  return { ...field, name, lowerAscii: false };
}

/** What a condition is about. The creation time lies in the key. */
export function operandOf({ name, type, nullable = false, lowerAscii }: Reference): Operand {
  return type === 'creationTime'
    ? { field: 'id', type: 'uuid', nullable, lowerAscii }
    : { field: name, type, nullable, lowerAscii };
}

/** The error for what stands where a value is needed that a field is compared with. */
export function noLiteral(node: Node, reference: Reference, fields: FilterFields): FilterError {
  const { example } = notationOf(reference);
  if (node.op === 'id' && !Object.hasOwn(fields, node.args)) {
    const constant = ['true', 'false', 'null'].find((word) => word === node.args.toLowerCase());
    const meant = constant ?? (example.startsWith('"') ? `the text "${node.args}"` : `a value, as in ${example}`);
    return new FilterError('unknown_field', node, `knows no field ${node.args}; did you mean ${meant}?`);
  }
  if (node.op === 'id' || (node.op === 'rcall' && node.args[0] === 'lowerAscii')) {
    const message = `compares ${reference.name} with another field: compare it with a value, as in ${example}`;
    return new FilterError('unsupported', node, message);
  }
  return unsupported(node);
}
