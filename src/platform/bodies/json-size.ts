import type { FaultCode } from '../problems/problem.js';

/** Maximum nesting of JSON, because validation is recursive. */
const MAXIMUM_DEPTH = 32;

/** Kinds of characters. OTHER is a colon, or belongs to a number or to `true`, `false` or `null`. */
const [OTHER, SPACE, START, END, COMMA, QUOTE, ESCAPE] = [0, 1, 2, 3, 4, 5, 6];

const KINDS = new Uint8Array(2 ** 16);
['', ' \n\r\t', '{[', '}]', ',', '"', '\\'].forEach((characters, kind) => {
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
});

/**
 * Finds the limit that a JSON text exceeds. Does not parse it: parsing thousands of names takes longer than a create. Inner
 * loops skip numbers and strings, because a single one can fill a body (`bench/hostile-input.ts`).
 *
 * @param maximumMembers - maximum names and array elements over all levels
 */
export function findExcess(json: string, maximumMembers: number): [code: FaultCode, detail: string] | undefined {
  let [members, depth, isNext] = [0, 0, false];
  for (let at = 0; at < json.length && members <= maximumMembers && depth <= MAXIMUM_DEPTH; at += 1) {
    const kind = kindAt(json, at);
    if (kind === SPACE) {
      continue;
    }
    members += Number(isNext && kind !== END);
    depth += Number(kind === START) - Number(kind === END);
    isNext = kind === START || kind === COMMA;
    if (kind === QUOTE) {
      at = endOfText(json, at);
    }
    while (kind === OTHER && at + 1 < json.length && kindAt(json, at + 1) === OTHER) at += 1;
  }
  if (depth > MAXIMUM_DEPTH) {
    return ['too_deep', `must not be nested deeper than ${MAXIMUM_DEPTH} levels`];
  }
  const detail = `must have at most ${maximumMembers} names and elements in all: send several requests instead`;
  return members > maximumMembers ? ['too_many', detail] : undefined;
}

/** @param at - must be within the text: after one read beyond its end, V8 makes all later reads five times as slow */
const kindAt = (json: string, at: number) => KINDS[json.charCodeAt(at)];

/** Finds the end of a JSON string. @param start - index of its first quotation mark. @returns that of its last one */
function endOfText(json: string, start: number): number {
  let end = start + 1;
  while (end < json.length) {
    const kind = kindAt(json, end);
    if (kind === QUOTE) break;
    end += kind === ESCAPE ? 2 : 1;
  }
  return end;
}
