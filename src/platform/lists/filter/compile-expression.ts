import {
  absence,
  and,
  type Comparison,
  comparison,
  type Condition,
  constant,
  membership,
  not,
  type Operand,
  or,
  search,
  TEXT_SEARCHES,
  type TextSearch,
  truth,
} from './condition.js';
import { type FilterFields, notationOf } from './filter-fields.js';
import { operandOf, requireSimple } from './operands.js';
import { FilterError, isLiteral, isNull, type Node, type Span } from './parse-expression.js';
import { valueOf } from './values.js';

/** Maximum comparisons, lists and searches of an expression. */
export const MAXIMUM_CONDITIONS = 32;

/** Maximum searches for a text at any position, each of which reads whole texts. */
export const MAXIMUM_SEARCHES = 4;

const LIMITS = {
  conditions: { maximum: MAXIMUM_CONDITIONS, fix: 'use `in` with texts, a range of times, or several requests' },
  searches: { maximum: MAXIMUM_SEARCHES, fix: 'use `startsWith` or `==`, or fewer searches' },
};

const MIRRORED = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;

/** Operators for a value that was rounded down to the column's precision. No stored value equals it. */
const ROUNDED = { '==': undefined, '!=': undefined, '<': '<=', '<=': '<=', '>': '>', '>=': '>' } as const;

/** Compiles an expression. @throws FilterError `unknown_field`, `type`, `value`, `limit` or `unsupported` */
export function compileExpression(expression: Node, fields: FilterFields): Condition {
  return new Compiler(fields).compile(expression);
}

class Compiler {
  private readonly counts = { conditions: 0, searches: 0 };

  constructor(private readonly fields: FilterFields) {}

  compile(node: Node): Condition {
    switch (node.op) {
      case '&&':
        return and(node.args.map((part) => this.compile(part)));
      case '||':
        return or(node.args.map((part) => this.compile(part)));
      case '!_':
        return not(this.compile(node.args));
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
        return isSearch(node.args[0]) ? this.search(node, node.args[0]) : this.truth(node);
      default:
        return this.truth(node);
    }
  }

  private comparison(node: Node<Comparison>): Condition {
    const [left, right] = node.args;
    const isMirrored = isLiteral(left);
    const [subject, literal] = isMirrored ? [right, left] : [left, right];
    const operator = isMirrored ? MIRRORED[node.op] : node.op;
    const operand = operandOf(subject, this.fields);
    this.count('conditions', node);
    const isEquality = operator === '==' || operator === '!=';
    if (isEquality && isNull(literal)) {
      const isAbsent = absenceOf(operand, literal);
      return operator === '==' ? isAbsent : not(isAbsent);
    }
    if (!isEquality && operand.type === 'enum') {
      const message = `compares ${operand.name} by order, but it has none: use \`==\`, \`!=\` or \`in\``;
      throw new FilterError('type', node, message);
    }
    const { text, isRounded } = valueOf(literal, operand, this.fields);
    const exactOperator = isRounded ? ROUNDED[operator] : operator;
    return exactOperator ? comparison(operand, exactOperator, text) : constant(operator === '!=');
  }

  private membership(node: Node<'in'>): Condition {
    const [subject, list] = node.args;
    const operand = operandOf(subject, this.fields);
    if (list.op !== 'list') {
      requireSimple(list, operand, this.fields);
      const example = `${operand.name} in [${notationOf(operand).example}]`;
      throw new FilterError('type', list, `needs a list after \`in\`: write \`${example}\``);
    }
    const [isAbsent] = list.args.filter(isNull).map((element) => absenceOf(operand, element));
    const literals = list.args.filter((element) => !isNull(element));
    // Each time becomes a separate comparison.
    for (const counted of operand.type === 'creationTime' ? literals : [node]) {
      this.count('conditions', counted);
    }
    const values = literals.map((literal) => valueOf(literal, operand, this.fields)).filter(({ isRounded }) => !isRounded);
    const texts = values.map(({ text }) => text);
    const isAmong = membership(operand, texts);
    return isAbsent ? or([isAmong, isAbsent]) : isAmong;
  }

  private search(node: Node<'rcall'>, name: TextSearch): Condition {
    const [, subject, [literal, ...more]] = node.args;
    const operand = operandOf(subject, this.fields);
    if (operand.type !== 'string' || !literal || more.length > 0) {
      throw new FilterError('type', node, `must call ${name} on a text field with one text: write \`name.${name}("…")\``);
    }
    this.count('conditions', node);
    if (name !== 'startsWith') {
      this.count('searches', node);
    }
    return search(operand, name, valueOf(literal, operand, this.fields).text);
  }

  /** A condition without an operator: `true`, `false` or a boolean field. */
  private truth(node: Node): Condition {
    if (node.op === 'value' && typeof node.args === 'boolean') {
      return constant(node.args);
    }
    const operand = isLiteral(node) ? undefined : operandOf(node, this.fields);
    if (operand?.type !== 'bool') {
      throw new FilterError('type', node, 'needs a condition here: compare a field with a value, as in `name == "…"`');
    }
    this.count('conditions', node);
    return truth(operand);
  }

  private count(counted: keyof typeof LIMITS, node: Span): void {
    const { maximum, fix } = LIMITS[counted];
    this.counts[counted] += 1;
    if (this.counts[counted] > maximum) {
      throw new FilterError('limit', node, `has more than ${maximum} ${counted}: ${fix}`);
    }
  }
}

function isSearch(name: string): name is TextSearch {
  return TEXT_SEARCHES.some((known) => known === name);
}

function absenceOf(operand: Operand, literal: Span): Condition {
  const { name, nullable, lowerAscii } = operand;
  if (nullable && !lowerAscii) {
    return absence(operand);
  }
  const message = nullable
    ? `compares ${name}.lowerAscii() with null: compare ${name} itself, as in \`${name} == null\``
    : `compares ${name} with null, but it is never null: remove this comparison`;
  throw new FilterError('type', literal, message);
}
