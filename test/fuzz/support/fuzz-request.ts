import type { Described } from './described.js';

/** A request before it is put into bytes. */
export interface Draft {
  readonly operation: Described;
  /** Values of the parameters in the path, by name. */
  readonly pathParameters: Readonly<Record<string, string>>;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Value of the JSON body; undefined for none. */
  readonly json: unknown;
}

/** A request as it is sent. */
export interface FuzzRequest {
  readonly method: string;
  /** Path and query, percent-encoded. */
  readonly target: string;
  /** Each may come several times. Latin-1, as bytes. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Whether it is sent with the credentials that it has, or has not, instead of a good token. */
  readonly hasOwnCredentials?: boolean;
}

/** What may come of a request. */
export interface Expected {
  readonly statuses: readonly number[];
  /** All places that the problem must name, in any order; unset: whichever. */
  readonly names?: readonly string[];
}

/** A request, and what may come of it. */
export interface Attempt {
  readonly request: FuzzRequest;
  readonly expected: Expected;
  /** The operation that documents the answer; undefined where no operation is called. */
  readonly operation: Described | undefined;
}

/** @param spelling - how the JSON is written */
export function requestOf(
  { operation, pathParameters, query, headers, json }: Draft,
  spelling: Spelling = JSON.stringify,
): FuzzRequest {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(pathParameters[name] ?? ''));
  const search = query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
  return {
    method: operation.method,
    target: search === '' ? path : `${path}?${search}`,
    headers: json === undefined ? headers : [['Content-Type', 'application/json'], ...headers],
    ...(json !== undefined && { body: spelling(json) }),
  };
}

/** A way to write JSON. */
export type Spelling = (value: unknown) => string;

/** Ways to write the same JSON that a parser must not care about. */
export const SPELLINGS: readonly Spelling[] = [
  JSON.stringify,
  (value) => `\n\t ${JSON.stringify(value, null, 2)}\r\n`,
  (value) =>
    JSON.stringify(value).replaceAll(/[^\0-~]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  (value) => `\ufeff${JSON.stringify(value)}`,
];
