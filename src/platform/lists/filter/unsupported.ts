import { closestMatch } from 'leven';
import { TEXT_SEARCHES, type TextSearch } from './condition.js';
import { FilterError, isLiteral, type Node, type Span } from './parse-expression.js';

const FUNCTIONS = [...TEXT_SEARCHES, 'lowerAscii', 'timestamp'];

export function isSearch(name: string): name is TextSearch {
  return TEXT_SEARCHES.some((search) => search === name);
}

/** What CEL has and this subset has not, by operator. */
const UNSUPPORTED: Readonly<Partial<Record<Node['op'], string>>> = {
  '?:': 'a choice with `?`: write it with `&&` and `||`',
  '[]': 'an index: name the field alone',
  '.': 'a part of a field: name the field alone, and give functions their parentheses',
  map: 'a map',
  list: 'a list where a field is needed: write it after `in`',
};

const CONDITIONS: ReadonlySet<Node['op']> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in', '&&', '||', '!_', 'rcall']);

/** The error for what CEL has and this subset has not. */
export function unsupported(node: Node): FilterError {
  if (isLiteral(node)) {
    return new FilterError('unsupported', node, 'compares a value with a value: compare a field');
  }
  if (node.op === 'call') {
    return unsupportedCall(node.args[0], node);
  }
  const message = CONDITIONS.has(node.op)
    ? 'compares a condition: join conditions with `&&`, `||` and `!`'
    : `has ${UNSUPPORTED[node.op] ?? 'arithmetic: write the result'}`;
  return new FilterError('unsupported', node, message);
}

/** The error for a function that is called without a field before it. */
function unsupportedCall(name: string, node: Span): FilterError {
  if (name === 'has') {
    return new FilterError('unsupported', node, 'calls has: write `!= null`');
  }
  if (isSearch(name) || name === 'lowerAscii') {
    const call = `name.${name}(${isSearch(name) ? '"…"' : ''})`;
    return new FilterError('unsupported', node, `calls ${name} without a field: write \`${call}\``);
  }
  return unknownFunction(name, node);
}

/** The error for a function that is not supported. */
export function unknownFunction(name: string, node: Span): FilterError {
  const similar = name === 'matches' || name === 'size' ? undefined : closest(name, FUNCTIONS);
  const advice = similar ? `; did you mean ${similar}?` : `: there are ${FUNCTIONS.join(', ')}`;
  return new FilterError('unsupported', node, `calls ${name}, which is not supported${advice}`);
}

/** The name that was probably meant: a third of its characters may differ. */
export function closest(name: string, names: readonly string[]): string | undefined {
  return closestMatch(name, names, { maxDistance: Math.ceil(name.length / 3) });
}
