import type { FaultCode } from '../problems/problem.js';

/** Maximum nesting: validation is recursive. */
const MAXIMUM_DEPTH = 32;

/** Of characters; any other belongs to a number, a word or a colon. */
const [OTHER, SPACE, START, END, COMMA, QUOTE, ESCAPE] = [0, 1, 2, 3, 4, 5, 6];

const KINDS = new Uint8Array(2 ** 16);
['', ' \n\r\t', '{[', '}]', ',', '"', '\\'].forEach((characters, kind) => {
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;
});

/**
 * The limit that a JSON text exceeds, found without parsing it: that alone takes longer than a create for thousands of
 * names. One number or text can fill a body: they are skipped in loops of their own (`bench/hostile-input.ts`).
 *
 * @param maximumMembers - names and elements over all levels
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

/** @param at - within the text: one look beyond its end, and V8 makes each later one five times as slow */
const kindAt = (json: string, at: number) => KINDS[json.charCodeAt(at)];

/** @param start - of its first quotation mark */
function endOfText(json: string, start: number): number {
  let end = start + 1;
  while (end < json.length) {
    const kind = kindAt(json, end);
    if (kind === QUOTE) break;
    end += kind === ESCAPE ? 2 : 1;
  }
  return end;
}
