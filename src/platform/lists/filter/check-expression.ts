import type { Comparison, Condition, Operand } from './condition.js';
import { createdAt } from './creation-time.js';
import { FilterError, type Span } from './filter-error.js';
import { type FilterFields, NOTATION } from './filter-fields.js';
import { isLiteral, isNull, momentOf, textOf, valueOf } from './literals.js';
import { MAXIMUM_DEPTH, type Node, TOO_DEEP } from './parse-expression.js';
import { noLiteral, type Reference, referenceTo } from './reference.js';
import { isSearch, unknownFunction } from './unsupported.js';

/** Comparisons, lists and searches of one expression, at most. */
export const MAXIMUM_CONDITIONS = 32;

/** Searches that can match anywhere in a text, at most: every one reads whole texts. */
export const MAXIMUM_SEARCHES = 4;

const MIRRORED = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

/**
 * Checks the names and types of an expression against the fields that can be filtered by.
 *
 * @throws FilterError with code `unknown_field`, `type`, `value`, `limit` or `unsupported`
 */
export function checkExpression(expression: Node, fields: FilterFields): Condition {
  return new ExpressionChecker(fields).condition(expression);
}

class ExpressionChecker {
  private conditions = 0;
  private searches = 0;

  constructor(private readonly fields: FilterFields) {}

  condition(node: Node, depth = 0): Condition {
    if (depth > MAXIMUM_DEPTH) {
      throw new FilterError('limit', node, TOO_DEEP);
    }
    switch (node.op) {
      case '&&':
      case '||':
        return {
          kind: node.op === '&&' ? 'and' : 'or',
          conditions: chain(node).map((part) => this.condition(part, depth + 1)),
        };
      case '!_':
        return { kind: 'not', condition: this.condition(node.args, depth + 1) };
      case '==':
      case '!=':
      case '<':
      case '<=':
      case '>':
      case '>=':
        return this.comparison(node);
      case 'in':
        return this.membership(node);
      case 'rcall':
        return this.search(node);
      default: {
        if (node.op === 'value' && typeof node.args === 'boolean') {
          return { kind: 'constant', value: node.args };
        }
        if (isLiteral(node)) {
          throw new FilterError('type', node, 'has a value where a condition is needed: compare a field with it');
        }
        const { name, type, nullable } = referenceTo(node, this.fields);
        const comparison = nullable ? '!= null' : `== ${NOTATION[type].example}`;
        throw new FilterError(
          'type',
          node,
          `has the field ${name} where a condition is needed: compare it, as in \`${name} ${comparison}\``,
        );
      }
    }
  }

  private comparison(node: Node<Comparison>): Condition {
    const [left, right] = node.args;
    const mirrored = isLiteral(left);
    const [subject, literal] = mirrored ? [right, left] : [left, right];
    const reference = referenceTo(subject, this.fields);
    this.count(node);
    if (!isLiteral(literal)) {
      throw noLiteral(literal, reference, this.fields);
    }
    return this.compare(reference, mirrored ? MIRRORED[node.op] : node.op, literal, node);
  }

  private compare(reference: Reference, operator: Comparison, literal: Node, node: Span): Condition {
    if (isNull(literal)) {
      if (operator !== '==' && operator !== '!=') {
        throw new FilterError('type', node, 'compares the order with null: only `==` and `!=` know it');
      }
      const absence = this.absence(reference, literal);
      return operator === '==' ? absence : { kind: 'not', condition: absence };
    }
    if (reference.type === 'creationTime') {
      return createdAt(operator, momentOf(literal));
    }
    return { kind: 'comparison', operand: operandOf(reference), operator, value: valueOf(literal, reference) };
  }

  private membership(node: Node<'in'>): Condition {
    const [subject, list] = node.args;
    if (isLiteral(subject)) {
      throw new FilterError(
        'unsupported',
        node,
        'looks for a value in a field: use `.contains("…")`, or write the field before `in`',
      );
    }
    const reference = referenceTo(subject, this.fields);
    if (list.op !== 'list') {
      throw new FilterError(
        'type',
        list,
        `needs a list after \`in\`: write \`${reference.name} in [${NOTATION[reference.type].example}]\``,
      );
    }
    const literals = list.args.map((element) => {
      if (!isLiteral(element)) {
        throw noLiteral(element, reference, this.fields);
      }
      return element;
    });
    const absences = literals.filter(isNull).map((element) => this.absence(reference, element));
    const present = literals.filter((element) => !isNull(element));
    const membership = this.presentMembership(reference, present, node);
    const [absence] = absences;
    return absence ? { kind: 'or', conditions: [membership, absence] } : membership;
  }

  private presentMembership(reference: Reference, literals: readonly Node[], node: Node): Condition {
    if (reference.type !== 'creationTime') {
      this.count(node);
      const values = literals.map((element) => valueOf(element, reference));
      return { kind: 'membership', operand: operandOf(reference), values };
    }
    const conditions = literals.map((element) => {
      this.count(element);
      return createdAt('==', momentOf(element));
    });
    return conditions.length > 0 ? { kind: 'or', conditions } : { kind: 'constant', value: false };
  }

  private absence(reference: Reference, literal: Span): Condition {
    if (!reference.nullable || reference.lowerAscii) {
      throw new FilterError('type', literal, `compares ${reference.name} with null, which it never is: leave that out`);
    }
    return { kind: 'absence', operand: operandOf(reference) };
  }

  private search(node: Node<'rcall'>): Condition {
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
    const reference = referenceTo(subject, this.fields);
    const [literal, ...more] = parameters;
    if (reference.type !== 'string') {
      throw new FilterError(
        'type',
        node,
        `searches ${reference.name}, which is ${NOTATION[reference.type].noun} and no text: compare it instead`,
      );
    }
    if (literal && !isLiteral(literal)) {
      throw noLiteral(literal, reference, this.fields);
    }
    if (!literal || more.length > 0) {
      throw new FilterError('type', node, `must give ${name} one text: write \`.${name}("…")\``);
    }
    this.count(node);
    if (name !== 'startsWith' && (this.searches += 1) > MAXIMUM_SEARCHES) {
      throw new FilterError(
        'limit',
        node,
        `searches texts more than ${MAXIMUM_SEARCHES} times: use \`startsWith\` or \`==\`, or fewer searches`,
      );
    }
    return { kind: 'search', operand: operandOf(reference), search: name, text: textOf(literal, reference) };
  }

  private count(node: Span): void {
    this.conditions += 1;
    if (this.conditions > MAXIMUM_CONDITIONS) {
      throw new FilterError('limit', node, `has more than ${MAXIMUM_CONDITIONS} conditions: use \`in\`, or several requests`);
    }
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

function operandOf({ name, type, nullable = false, lowerAscii }: Reference): Operand {
  return { field: name, type: type === 'uuid' ? 'uuid' : 'string', nullable, lowerAscii };
}
