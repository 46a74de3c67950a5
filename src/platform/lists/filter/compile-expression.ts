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
  truth,
} from './condition.js';
import { type FilterFields, notationOf } from './filter-fields.js';
import { FilterError, isLiteral, isNull, MAXIMUM_DEPTH, type Node, type Span, TOO_DEEP } from './parse-expression.js';
import { closest, isSearch, unknownFunction, unsupported } from './unsupported.js';
import { operatorFor, valueOf } from './values.js';

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
export function compileExpression(expression: Node, fields: FilterFields): Condition {
  return new Compiler(fields).compile(expression, 0);
}

class Compiler {
  private conditions = 0;
  private searches = 0;

  constructor(private readonly fields: FilterFields) {}

  compile(node: Node, depth: number): Condition {
    if (depth > MAXIMUM_DEPTH) {
      throw new FilterError('limit', node, TOO_DEEP);
    }
    const compilePart = (part: Node) => this.compile(part, depth + 1);
    switch (node.op) {
      case '&&':
        return and(chain(node).map(compilePart));
      case '||':
        return or(chain(node).map(compilePart));
      case '!_':
        return not(compilePart(node.args));
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
      default:
        return this.truth(node);
    }
  }

  private comparison(node: Node<Comparison>): Condition {
    const [left, right] = node.args;
    const isMirrored = isLiteral(left);
    const [subject, literal] = isMirrored ? [right, left] : [left, right];
    const operator = isMirrored ? MIRRORED[node.op] : node.op;
    const operand = this.operandOf(subject);
    this.countCondition(node);
    this.requireLiteral(literal, operand);
    const isOrder = operator !== '==' && operator !== '!=';
    if (isNull(literal)) {
      if (isOrder) {
        throw new FilterError('type', node, 'compares the order with null: only `==` and `!=` know it');
      }
      const isAbsent = absenceOf(operand, literal);
      return operator === '==' ? isAbsent : not(isAbsent);
    }
    if (isOrder && operand.type === 'enum') {
      throw new FilterError('type', node, `compares the order of ${operand.name}, which has none: use \`==\`, \`!=\` or \`in\``);
    }
    const value = valueOf(literal, operand);
    const exactOperator = operatorFor(value, operator);
    return exactOperator ? comparison(operand, exactOperator, value.text) : constant(operator === '!=');
  }

  private membership(node: Node<'in'>): Condition {
    const [subject, list] = node.args;
    if (isLiteral(subject)) {
      const message = 'looks for a value in a field: use `.contains("…")`, or write the field before `in`';
      throw new FilterError('unsupported', node, message);
    }
    const operand = this.operandOf(subject);
    if (list.op !== 'list') {
      const example = `${operand.name} in [${notationOf(operand).example}]`;
      throw new FilterError('type', list, `needs a list after \`in\`: write \`${example}\``);
    }
    list.args.forEach((element) => {
      this.requireLiteral(element, operand);
    });
    const [isAbsent] = list.args.filter(isNull).map((element) => absenceOf(operand, element));
    const literals = list.args.filter((element) => !isNull(element));
    // Each time is a comparison of its own.
    for (const counted of operand.type === 'creationTime' ? literals : [node]) {
      this.countCondition(counted);
    }
    const values = literals.map((literal) => valueOf(literal, operand)).filter(({ side }) => side === 0);
    const isAmong = membership(
      operand,
      values.map(({ text }) => text),
    );
    return isAbsent ? or([isAmong, isAbsent]) : isAmong;
  }

  private search(node: Node<'rcall'>): Condition {
    const [name, subject, parameters] = node.args;
    if (name === 'lowerAscii') {
      const message = 'has a text where a condition is needed: compare it, as in `name.lowerAscii() == "…"`';
      throw new FilterError('type', node, message);
    }
    if (!isSearch(name)) {
      throw unknownFunction(name, node);
    }
    if (isLiteral(subject)) {
      throw new FilterError('unsupported', node, `searches a fixed text: begin with the field, as in \`name.${name}("…")\``);
    }
    const operand = this.operandOf(subject);
    if (operand.type !== 'string') {
      const noText = operand.type === 'enum' ? '' : ' and no text';
      const message = `searches ${operand.name}, which is ${notationOf(operand).noun}${noText}: compare it instead`;
      throw new FilterError('type', node, message);
    }
    const [literal, ...more] = parameters;
    if (!literal || more.length > 0) {
      throw new FilterError('type', node, `must give ${name} one text: write \`.${name}("…")\``);
    }
    this.requireLiteral(literal, operand);
    this.countCondition(node);
    if (name !== 'startsWith') {
      this.countSearch(node);
    }
    return search(operand, name, valueOf(literal, operand).text);
  }

  /** What is a condition without an operator: `true`, `false` or a field that is one of these. */
  private truth(node: Node): Condition {
    if (node.op === 'value' && typeof node.args === 'boolean') {
      return constant(node.args);
    }
    if (isLiteral(node)) {
      throw new FilterError('type', node, 'has a value where a condition is needed: compare a field with it');
    }
    const operand = this.operandOf(node);
    if (operand.type !== 'bool') {
      const { name, nullable } = operand;
      const example = `${name} ${nullable ? '!= null' : `== ${notationOf(operand).example}`}`;
      const message = `has the field ${name} where a condition is needed: compare it, as in \`${example}\``;
      throw new FilterError('type', node, message);
    }
    this.countCondition(node);
    return truth(operand);
  }

  /** The field that a node stands for. */
  private operandOf(node: Node): Operand {
    if (node.op === 'rcall') {
      const [name, subject, parameters] = node.args;
      if (name !== 'lowerAscii') {
        throw isSearch(name) ? unsupported(node) : unknownFunction(name, node);
      }
      const operand = this.operandOf(subject);
      if (operand.type !== 'string' || parameters.length > 0) {
        throw new FilterError('type', node, `must use ${name} on a field of text and give it nothing: write \`name.${name}()\``);
      }
      return { ...operand, lowerAscii: true };
    }
    if (node.op !== 'id') {
      throw unsupported(node);
    }
    const name = node.args;
    const field = Object.hasOwn(this.fields, name) ? this.fields[name] : undefined;
    if (!field) {
      const names = Object.keys(this.fields);
      const similar = closest(name, names);
      const advice = similar ? `; did you mean ${similar}?` : `: there are ${names.join(', ')}`;
      throw new FilterError('unknown_field', node, `knows no field ${name}${advice}`);
    }
    return { ...field, name, lowerAscii: false };
  }

  /** @throws FilterError for what stands where a value is needed that a field is compared with */
  private requireLiteral(node: Node, operand: Operand): void {
    if (isLiteral(node)) {
      return;
    }
    const { example } = notationOf(operand);
    if (node.op === 'id' && !Object.hasOwn(this.fields, node.args)) {
      const constantMeant = ['true', 'false', 'null'].find((word) => word === node.args.toLowerCase());
      const meant = constantMeant ?? (example.startsWith('"') ? `the text "${node.args}"` : `a value, as in ${example}`);
      throw new FilterError('unknown_field', node, `knows no field ${node.args}; did you mean ${meant}?`);
    }
    if (node.op === 'id' || (node.op === 'rcall' && node.args[0] === 'lowerAscii')) {
      const message = `compares ${operand.name} with another field: compare it with a value, as in ${example}`;
      throw new FilterError('unsupported', node, message);
    }
    throw unsupported(node);
  }

  private countCondition(node: Span): void {
    this.conditions += 1;
    if (this.conditions > MAXIMUM_CONDITIONS) {
      throw new FilterError('limit', node, `has more than ${MAXIMUM_CONDITIONS} conditions: use \`in\`, or several requests`);
    }
  }

  private countSearch(node: Span): void {
    this.searches += 1;
    if (this.searches > MAXIMUM_SEARCHES) {
      const message = `searches texts more than ${MAXIMUM_SEARCHES} times: use \`startsWith\` or \`==\`, or fewer searches`;
      throw new FilterError('limit', node, message);
    }
  }
}

function absenceOf(operand: Operand, literal: Span): Condition {
  if (!operand.nullable || operand.lowerAscii) {
    throw new FilterError('type', literal, `compares ${operand.name} with null, which it never is: leave that out`);
  }
  return absence(operand);
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
