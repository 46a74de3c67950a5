import type { Budget } from './budget.js';
import { compareWith, isAmong } from './place.js';
import type { Comparison, Condition } from './condition.js';
import { createdAt } from './creation-time.js';
import { FilterError, type Span } from './filter-error.js';
import type { FilterFields } from './filter-fields.js';
import { isLiteral, isNull } from './literals.js';
import { notationOf } from './notation.js';
import type { Node } from './parse-expression.js';
import { noLiteral, operandOf, type Reference, referenceTo } from './reference.js';
import { momentOf, textOf, valueOf } from './values.js';
import { isSearch, unknownFunction } from './unsupported.js';

const MIRRORED = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

/** @throws FilterError when it does not compare a field with a value of its type */
export function checkComparison(node: Node<Comparison>, fields: FilterFields, budget: Budget): Condition {
  const [left, right] = node.args;
  const mirrored = isLiteral(left);
  const [subject, literal] = mirrored ? [right, left] : [left, right];
  const reference = referenceTo(subject, fields);
  budget.takeCondition(node);
  if (!isLiteral(literal)) {
    throw noLiteral(literal, reference, fields);
  }
  return compare(reference, mirrored ? MIRRORED[node.op] : node.op, literal, node);
}

function compare(reference: Reference, operator: Comparison, literal: Node, node: Span): Condition {
  const isOrder = operator !== '==' && operator !== '!=';
  if (isNull(literal)) {
    if (isOrder) {
      throw new FilterError('type', node, 'compares the order with null: only `==` and `!=` know it');
    }
    const absence = checkAbsence(reference, literal);
    return operator === '==' ? absence : { kind: 'not', condition: absence };
  }
  if (isOrder && reference.type === 'enum') {
    throw new FilterError('type', node, `compares the order of ${reference.name}, which has none: use \`==\`, \`!=\` or \`in\``);
  }
  if (reference.type === 'creationTime') {
    return createdAt(operator, momentOf(literal, reference));
  }
  return compareWith(operandOf(reference), operator, valueOf(literal, reference));
}

/** @throws FilterError when it does not look for a field in a list of values of its type */
export function checkMembership(node: Node<'in'>, fields: FilterFields, budget: Budget): Condition {
  const [subject, list] = node.args;
  if (isLiteral(subject)) {
    throw new FilterError(
      'unsupported',
      node,
      'looks for a value in a field: use `.contains("…")`, or write the field before `in`',
    );
  }
  const reference = referenceTo(subject, fields);
  if (list.op !== 'list') {
    throw new FilterError(
      'type',
      list,
      `needs a list after \`in\`: write \`${reference.name} in [${notationOf(reference).example}]\``,
    );
  }
  const literals = list.args.map((element) => {
    if (!isLiteral(element)) {
      throw noLiteral(element, reference, fields);
    }
    return element;
  });
  const [absence] = literals.filter(isNull).map((element) => checkAbsence(reference, element));
  const membership = checkPresentMembership(
    reference,
    literals.filter((element) => !isNull(element)),
    node,
    budget,
  );
  return absence ? { kind: 'or', conditions: [membership, absence] } : membership;
}

function checkPresentMembership(reference: Reference, literals: readonly Node[], node: Node, budget: Budget): Condition {
  if (reference.type !== 'creationTime') {
    budget.takeCondition(node);
    const places = literals.map((element) => valueOf(element, reference));
    return isAmong(operandOf(reference), places);
  }
  const conditions = literals.map((element) => {
    budget.takeCondition(element);
    return createdAt('==', momentOf(element, reference));
  });
  return conditions.length > 0 ? { kind: 'or', conditions } : { kind: 'constant', value: false };
}

function checkAbsence(reference: Reference, literal: Span): Condition {
  if (!reference.nullable || reference.lowerAscii) {
    throw new FilterError('type', literal, `compares ${reference.name} with null, which it never is: leave that out`);
  }
  return { kind: 'absence', operand: operandOf(reference) };
}

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
