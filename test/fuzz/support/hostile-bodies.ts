import * as fc from 'fast-check';
import { isValid } from './schemas.js';
import type { Described } from './described.js';

/** Bodies of nobody who has read the document: bytes, any JSON, much of it, and what JavaScript may take for something else. */
export const hostileBodies: fc.Arbitrary<string | Uint8Array<ArrayBuffer>> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.json({ stringUnit: 'binary' }),
  fc.string({ unit: 'binary' }),
  fc
    .tuple(fc.integer({ min: 1, max: 5000 }), fc.constantFrom('[', '{"a":', '{"name":', '[{"a":'))
    .map(([depth, opening]) => opening.repeat(depth)),
  fc.integer({ min: 1, max: 5000 }).map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`),
  fc.integer({ min: 1, max: 5000 }).map((depth) => `${'{"name":'.repeat(depth)}1${'}'.repeat(depth)}`),
  fc
    .constantFrom('1e999', '-1e999', '9'.repeat(5000), `0.${'0'.repeat(5000)}1`, '-0', '1E-400')
    .map((number) => `{"name":"x","price":${number},"limit":${number}}`),
  fc.constantFrom('__proto__', 'constructor', 'prototype').map((name) => `{"name":"x","${name}":{"name":"y","isAdmin":true}}`),
  fc.constantFrom(
    '',
    '\0',
    '\ufeff',
    'null',
    'true',
    '""',
    '[]',
    '[{"name":"x"}]',
    'NaN',
    '<a/>',
    'name=x',
    '{}{}',
    '{"name":"\\ud800"}',
    '{"name":"\\u0000"}',
    '{"name":{"$gt":""}}',
    '{"name":["x"]}',
  ),
);

/** Whether one of them happens to be right. */
export function isValidBody({ body: schema }: Described, body: string | Uint8Array<ArrayBuffer>): boolean {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(body)), requireUnicode);
    return isValid(schema ?? {}, value);
  } catch {
    return false;
  }
}

/** Half of a character is no text, whatever JSON Schema thinks of it (RFC 8259, section 8.2). */
function requireUnicode(_name: string, value: unknown): unknown {
  if (typeof value === 'string' && !value.isWellFormed()) {
    throw new Error('It has a lone surrogate.');
  }
  return value;
}
