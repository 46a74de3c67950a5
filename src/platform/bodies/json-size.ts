import type { FaultCode } from '../problems/problem.js';

/** Maximum nesting: validation is recursive. */
const MAXIMUM_DEPTH = 32;

/**
 * The limit that a JSON text exceeds, found without parsing it: that alone takes longer than a create for thousands of
 * names.
 *
 * @param maximumMembers - names and elements over all levels
 */
export function findExcess(json: string, maximumMembers: number): [code: FaultCode, detail: string] | undefined {
  let [members, depth, isInText, isNext] = [0, 0, false, false];
  for (let at = 0; at < json.length && members <= maximumMembers && depth <= MAXIMUM_DEPTH; at += 1) {
    const character = json[at];
    if (isInText) {
      at += Number(character === '\\');
      isInText = character !== '"';
      continue;
    }
    if (character === ' ' || character === '\n' || character === '\r' || character === '\t') {
      continue;
    }
    const isStart = character === '{' || character === '[';
    const isEnd = character === '}' || character === ']';
    members += Number(isNext && !isEnd);
    depth += Number(isStart) - Number(isEnd);
    isNext = isStart || character === ',';
    isInText = character === '"';
  }
  if (depth > MAXIMUM_DEPTH) {
    return ['too_deep', `must not be nested deeper than ${MAXIMUM_DEPTH} levels`];
  }
  const detail = `must have at most ${maximumMembers} names and elements in all: send several requests instead`;
  return members > maximumMembers ? ['too_many', detail] : undefined;
}
