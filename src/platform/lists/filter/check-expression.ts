import { Budget } from './budget.js';
import { checkComparison, checkMembership, checkSearch } from './check-condition.js';
import type { Condition } from './condition.js';
import { FilterError } from './filter-error.js';
import type { FilterFields } from './filter-fields.js';
import { isLiteral } from './literals.js';
import { notationOf } from './notation.js';
import { MAXIMUM_DEPTH, type Node, TOO_DEEP } from './parse-expression.js';
import { operandOf, referenceTo } from './reference.js';

/**
 * Checks the names and types of an expression against the fields that can be filtered by.
 *
 * @throws FilterError with code `unknown_field`, `type`, `value`, `limit` or `unsupported`
 */
export function checkExpression(expression: Node, fields: FilterFields): Condition {
  return checkCondition(expression, fields, new Budget(), 0);
}

function checkCondition(node: Node, fields: FilterFields, budget: Budget, depth: number): Condition {
  if (depth > MAXIMUM_DEPTH) {
    throw new FilterError('limit', node, TOO_DEEP);
  }
  const checkPart = (part: Node) => checkCondition(part, fields, budget, depth + 1);
  switch (node.op) {
    case '&&':
    case '||':
      return { kind: node.op === '&&' ? 'and' : 'or', conditions: chain(node).map(checkPart) };
    case '!_':
      return { kind: 'not', condition: checkPart(node.args) };
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return checkComparison(node, fields, budget);
    case 'in':
      return checkMembership(node, fields, budget);
    case 'rcall':
      return checkSearch(node, fields, budget);
    default:
      return checkTruth(node, fields, budget);
  }
}

/** `a && b && c` is one list, however the parser nests it. */
function chain(node: Node<'&&' | '||'>): Node[] {
  const parts: Node[] = [];
  let rest: Node = node;
  for (; rest.op === node.op; [rest] = (rest as Node<'&&' | '||'>).args) {
    parts.unshift((rest as Node<'&&' | '||'>).args[1]);
  }
  return [rest, ...parts];
}

/** What is a condition without an operator: `true`, `false` or a field that is one of these. */
function checkTruth(node: Node, fields: FilterFields, budget: Budget): Condition {
  if (node.op === 'value' && typeof node.args === 'boolean') {
    return { kind: 'constant', value: node.args };
  }
  if (isLiteral(node)) {
    throw new FilterError('type', node, 'has a value where a condition is needed: compare a field with it');
  }
  const reference = referenceTo(node, fields);
  if (reference.type === 'bool') {
    budget.takeCondition(node);
    return { kind: 'truth', operand: operandOf(reference) };
  }
  const { name, nullable } = reference;
  const comparison = nullable ? '!= null' : `== ${notationOf(reference).example}`;
  throw new FilterError(
    'type',
    node,
    `has the field ${name} where a condition is needed: compare it, as in \`${name} ${comparison}\``,
  );
}
