import { invalidBody, type Problem } from './problems.ts';

export interface NewItem {
  readonly name: string;
  readonly description: string | null;
}

/** Checks the parsed body of a request to create an item. */
export function readNewItem(body: unknown): NewItem | Problem {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    return invalidBody('', 'not_object', 'must be a JSON object');
  }
  const unknown = Object.keys(body).find((name) => name !== 'name' && name !== 'description');
  if (unknown !== undefined) {
    return invalidBody(`/${unknown}`, 'unknown', 'is not known');
  }
  const { name, description = null } = body as { name?: unknown; description?: unknown };
  if (!isText(name, 255) || !/\S/.test(name)) {
    return invalidBody('/name', 'type', 'must be a string of 1 to 255 characters, not blank');
  }
  if (description !== null && !isText(description, 4096)) {
    return invalidBody('/description', 'type', 'must be a string of at most 4096 characters');
  }
  return { name, description };
}

/** @param maximum - in code points */
function isText(value: unknown, maximum: number): value is string {
  return (
    typeof value === 'string' &&
    (value.length <= maximum || (value.length <= maximum * 2 && Array.from(value).length <= maximum)) &&
    !value.includes('\0') &&
    value.isWellFormed()
  );
}
