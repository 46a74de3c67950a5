import type { TextSearch } from './condition.js';
import { FilterError, type Span } from './filter-error.js';
import { isLiteral } from './literals.js';
import type { Node } from './parse-expression.js';
import { closestMatch } from 'leven';

const SEARCHES: readonly string[] = ['contains', 'startsWith', 'endsWith', 'icontains'] satisfies TextSearch[];
const FUNCTIONS = [...SEARCHES, 'lowerAscii', 'timestamp'];

export function isSearch(name: string): name is TextSearch {
  return SEARCHES.includes(name);
}

/** What CEL has and this subset has not, by operator. */
const UNSUPPORTED: Readonly<Partial<Record<Node['op'], string>>> = {
  '?:': 'a choice with `?`: write it with `&&` and `||`',
  '[]': 'an index: name the field alone',
  '[?]': 'an index: name the field alone',
  '.': 'a part of a field: name the field alone, and give functions their parentheses',
  map: 'a map',
  list: 'a list where a field is needed: write it after `in`',
};

/** The error for what CEL has and this subset has not. */
export function unsupported(node: Node): FilterError {
  if (isLiteral(node)) {
    return new FilterError('unsupported', node, 'compares a value with a value: compare a field');
  }
  if (node.op === 'call') {
    return unsupportedCall(node.args[0], node);
  }
  if (['==', '!=', '<', '<=', '>', '>=', 'in', '&&', '||', '!_', 'rcall'].includes(node.op)) {
    return new FilterError('unsupported', node, 'compares a condition: join conditions with `&&`, `||` and `!`');
  }
  return new FilterError('unsupported', node, `has ${UNSUPPORTED[node.op] ?? 'arithmetic: write the result'}`);
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
  const advice = similar ? `did you mean ${similar}?` : `there are ${FUNCTIONS.join(', ')}`;
  return new FilterError('unsupported', node, `calls ${name}, which is not supported${similar ? '; ' : ': '}${advice}`);
}

/** The name that was probably meant: a third of its characters may differ. */
export function closest(name: string, names: readonly string[]): string | undefined {
  return closestMatch(name, names, { maxDistance: Math.ceil(name.length / 3) });
}
