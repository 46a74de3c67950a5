import type { IncomingMessage } from 'node:http';
import { decodeCursor } from './items.ts';
import { invalidBody, invalidParameter, type Problem } from './problems.ts';

const DEFAULT = 20;
const MAXIMUM = 100;

export interface PageQuery {
  readonly limit: number;
  /** Key of the last row of the page before. */
  readonly after: string | undefined;
  /** What names contain. */
  readonly word: string | undefined;
  /** As the client wrote it. */
  readonly filter: string;
}

/** The only filter that the workloads use, and the only one that is supported here. */
const FILTER = /^name\.contains\("([^"\\%_]*)"\)$/;

/**
 * Checks the query of a request.
 *
 * @param parameters - as Node and the frameworks parse them: given twice, they are an array
 */
export function readPageQuery(parameters: Readonly<Record<string, unknown>>): PageQuery | Problem {
  for (const [name, value] of Object.entries(parameters)) {
    if (name !== 'limit' && name !== 'cursor' && name !== 'filter') {
      return invalidParameter(name, 'unknown', 'is not known');
    }
    if (typeof value !== 'string') {
      return invalidParameter(name, 'repeated', 'is given more than once: keep one');
    }
  }
  const { limit = String(DEFAULT), cursor, filter = '' } = parameters as Record<string, string | undefined>;
  if (!/^[1-9][0-9]{0,2}$/.test(limit) || Number(limit) > MAXIMUM) {
    return invalidParameter('limit', 'range', `must be an integer from 1 to ${MAXIMUM}, in decimal digits`);
  }
  const word = FILTER.exec(filter)?.[1];
  if (filter !== '' && word === undefined) {
    return invalidParameter('filter', 'unsupported', 'is unknown');
  }
  const after = cursor === undefined ? undefined : decodeCursor(cursor, filter);
  if (cursor !== undefined && after === undefined) {
    return invalidParameter('cursor', 'cursor', 'must be an unchanged nextCursor of a list with the same filter');
  }
  return { limit: Number(limit), after, word, filter };
}

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

/** The body of a request; undefined for what is no JSON, or too much. */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    return undefined;
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > 64 * 1024) {
      return undefined;
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}
