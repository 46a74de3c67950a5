import * as fc from 'fast-check';
import { examplesOf, isJson, type Media } from '../contract.js';
import { asObject, type JsonObject, valuesOf } from './values.js';

export type Body = string | Uint8Array<ArrayBuffer> | undefined;

/** How an operation takes its body, as its document says. */
export interface BodyMedia {
  type: string;
  schema: JsonObject;
  example?: unknown;
}

const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';
const BOUNDARY = 'boundary-of-the-tests';

export function bodyMediaOf(content: Readonly<Record<string, Media & { schema: JsonObject }>>): BodyMedia | undefined {
  const [[type, media] = []] = Object.entries(content);
  return type === undefined || !media ? undefined : { type, schema: media.schema, example: examplesOf(media)[0] };
}

/** Whether a handler may refuse what the schema admits: texts, files, and JSON that it checks itself. */
export function isOpen({ type, schema }: BodyMedia): boolean {
  return type === MULTIPART || (type !== FORM && !isJson(type)) || schema['type'] === undefined;
}

/** A media type for a range of them, with what a reader of it needs. */
export function contentTypeOf(type: string): string {
  const exact = type === '*/*' ? 'application/octet-stream' : type.replace('image/*', 'image/png').replace('*', 'x-test');
  return type === MULTIPART ? `${exact}; boundary=${BOUNDARY}` : exact;
}

/** Values that the document admits; of texts and bytes, mostly its example. */
export function valuesIn({ type, schema, example }: BodyMedia): fc.Arbitrary<unknown> {
  if (type === FORM || type === MULTIPART || (isJson(type) && schema['type'] !== undefined)) return valuesOf(schema);
  const others = isJson(type)
    ? fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }))
    : fc.oneof(fc.string({ unit: 'grapheme', minLength: 1 }), fc.uint8Array({ minLength: 1, maxLength: 300 }));
  return example === undefined ? others : fc.oneof(fc.constant(example), fc.constant(example), others);
}

const textOf = (part: unknown) => (typeof part === 'string' ? part : JSON.stringify(part));

/** Puts a value into the bytes of a body. */
export function encode({ type, schema }: BodyMedia, value: unknown): Body {
  if (isJson(type)) return JSON.stringify(value);
  if (type !== FORM && type !== MULTIPART) return value as Body;
  const present = Object.entries(asObject(value)).filter(([, part]) => part !== null);
  const fields = present.map(([name, part]): [string, string] => [name, textOf(part)]);
  return type === FORM ? new URLSearchParams(fields).toString() : multipart(fields, asObject(schema['properties']));
}

function multipart(fields: readonly [name: string, text: string][], properties: JsonObject): string {
  const parts = fields.map(([name, text]) => {
    const isFile = asObject(properties[name])['format'] === 'binary';
    const file = isFile ? '; filename="file.bin"\r\nContent-Type: application/octet-stream' : '';
    return `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${text}\r\n`;
  });
  return `${parts.join('')}--${BOUNDARY}--\r\n`;
}
