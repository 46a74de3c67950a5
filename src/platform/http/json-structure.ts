/** A fault of a JSON text that `JSON.parse` lets pass. */
export interface StructureFault {
  /** JSON Pointer (RFC 6901) to it. */
  pointer: string;
  code: 'duplicate_name' | 'reserved_name' | 'too_deep' | 'too_many';
  detail: string;
}

/** Deepest nesting of arrays and objects that is read: what comes after parsing is recursive. */
const MAXIMUM_DEPTH = 32;

/** Most names in a text, over all its objects: each that is unknown costs work and a line in the answer. */
const MAXIMUM_NAMES = 1000;

/** Names that change an object's prototype when something copies it property by property. */
const RESERVED = new Set(['__proto__', 'constructor', 'prototype']);

interface Container {
  readonly names: Set<string> | undefined;
  /** Name or index of the member that is being read. */
  member: string | number;
}

/**
 * Looks for what `JSON.parse` would silently resolve: a name given twice in one object (RFC 8259, section 4, leaves open
 * which one counts), names that pollute prototypes, nesting beyond 32 levels, and more than 1,000 names.
 *
 * @param text - valid JSON
 * @returns the first fault, or undefined
 */
export function findStructureFault(text: string): StructureFault | undefined {
  const open: Container[] = [];
  let last = '';
  let count = 0;
  for (let place = 0; place < text.length; place += 1) {
    const token = text[place];
    const container = open.at(-1);
    if (token === '"') {
      const end = endOfString(text, place);
      last = text.slice(place, end + 1);
      place = end;
    } else if (token === '{' || token === '[') {
      if (open.length === MAXIMUM_DEPTH) {
        return { pointer: pointerOf(open), code: 'too_deep', detail: `must not nest deeper than ${MAXIMUM_DEPTH} levels` };
      }
      open.push(token === '{' ? { names: new Set(), member: '' } : { names: undefined, member: 0 });
    } else if (token === '}' || token === ']') {
      open.pop();
    } else if (token === ',' && typeof container?.member === 'number') {
      container.member += 1;
    } else if (token === ':' && container?.names) {
      const name = last.includes('\\') ? String(JSON.parse(last)) : last.slice(1, -1);
      container.member = name;
      count += 1;
      if (count > MAXIMUM_NAMES) {
        return { pointer: '', code: 'too_many', detail: `must have at most ${MAXIMUM_NAMES} names` };
      }
      if (RESERVED.has(name)) {
        return { pointer: pointerOf(open), code: 'reserved_name', detail: 'is a reserved name: leave it out' };
      }
      if (container.names.has(name)) {
        return { pointer: pointerOf(open), code: 'duplicate_name', detail: 'is given more than once: keep one' };
      }
      container.names.add(name);
    }
  }
  return undefined;
}

/** Where the string ends that begins at a place. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) {
    end = text.indexOf('"', end + 1);
  }
  return end === -1 ? text.length : end;
}

/** Whether an odd number of backslashes is before a place. */
function isEscaped(text: string, place: number): boolean {
  let first = place;
  while (text[first - 1] === '\\') {
    first -= 1;
  }
  return (place - first) % 2 === 1;
}

function pointerOf(open: readonly Container[]): string {
  return jsonPointer(open.map((container) => container.member));
}

/** A JSON Pointer (RFC 6901) from property names and indexes. */
export function jsonPointer(path: readonly (string | number)[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
