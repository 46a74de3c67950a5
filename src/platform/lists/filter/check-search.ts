import type { Budget } from './budget.js';
import type { Condition } from './condition.js';
import { FilterError } from './filter-error.js';
import type { FilterFields } from './filter-fields.js';
import { isLiteral } from './literals.js';
import { notationOf } from './notation.js';
import type { Node } from './parse-expression.js';
import { noLiteral, operandOf, referenceTo } from './reference.js';
import { isSearch, unknownFunction } from './unsupported.js';
import { textOf } from './values.js';

/** @throws FilterError when it is not the search of a text in a field of text */
export function checkSearch(node: Node<'rcall'>, fields: FilterFields, budget: Budget): Condition {
  const [name, subject, parameters] = node.args;
  if (name === 'lowerAscii') {
    throw new FilterError('type', node, 'has a text where a condition is needed: compare it, as in `name.lowerAscii() == "…"`');
  }
  if (!isSearch(name)) {
    throw unknownFunction(name, node);
  }
  if (isLiteral(subject)) {
    throw new FilterError('unsupported', node, `searches a fixed text: begin with the field, as in \`name.${name}("…")\``);
  }
  const reference = referenceTo(subject, fields);
  const [literal, ...more] = parameters;
  if (reference.type !== 'string') {
    const noText = reference.type === 'enum' ? '' : ' and no text';
    throw new FilterError(
      'type',
      node,
      `searches ${reference.name}, which is ${notationOf(reference).noun}${noText}: compare it instead`,
    );
  }
  if (literal && !isLiteral(literal)) {
    throw noLiteral(literal, reference, fields);
  }
  if (!literal || more.length > 0) {
    throw new FilterError('type', node, `must give ${name} one text: write \`.${name}("…")\``);
  }
  budget.takeCondition(node);
  if (name !== 'startsWith') {
    budget.takeSearch(node);
  }
  return { kind: 'search', operand: operandOf(reference), search: name, text: textOf(literal, reference) };
}
