import type { CallHandler, ExecutionContext } from '@nestjs/common';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import type { Response } from 'express';
import { mergeMap, type Observable } from 'rxjs';
import { type DocumentedOperation, mediaTypesOf, type OpenApiDocument, type Schema } from '../openapi/openapi-document.js';
import { operationOf } from '../routes/operation.js';
import { isResultConverted } from '../routes/route.js';
import { type Copy, isFile, whitelistOf } from './whitelist.js';

const NO_BODY: Schema = { type: 'null' };

/** Messages about all undocumented responses of this process, for tests. */
export const undocumentedResponses = new Set<string>();

const compiled = new WeakMap<Schema, Promise<{ validate: ValidateFunction; copy: Copy }>>();

/** Fails if the response of a handler with `@Operation` does not match its documentation. */
export function checkResponse(document: OpenApiDocument, context: ExecutionContext, next: CallHandler): Observable<unknown> {
  const [controller, handler] = [context.getClass(), context.getHandler()];
  const check = async (body: unknown) => {
    const { statusCode: status } = context.getArgByIndex<Response>(1);
    const documented = document.find(handler)?.operation.responses[status];
    const faults = documented
      ? await mismatchesOf(status === 204 ? null : body, documented, document)
      : ['Its status is not documented: set `status` in @Operation().'];
    if (faults.length > 0) {
      const message = [`${controller.name}.${handler.name} responds ${status}, not as documented:`, ...faults].join('\n- ');
      undocumentedResponses.add(message);
      throw new Error(message);
    }
    return body;
  };
  const isChecked = operationOf({ controller, handler }) && !isResultConverted({ handler });
  return isChecked ? next.handle().pipe(mergeMap(check)) : next.handle();
}

/** What JSON Schema finds in a body, and what the whitelist would remove from it. Files are not checked. */
async function mismatchesOf(
  body: unknown,
  documented: DocumentedOperation['responses'][string],
  document: OpenApiDocument,
): Promise<string[]> {
  if (isFile(body) && typeof body !== 'string') {
    return [];
  }
  const [{ schema = {} } = { schema: NO_BODY }] = mediaTypesOf(documented);
  const { validate, copy } = await compiled.getOrInsertComputed(schema, () => compile(schema, document));
  const json: unknown = JSON.parse(JSON.stringify(body ?? null));
  validate(json);
  return [...new Set([...(validate.errors ?? []).map(describeMismatch), ...undocumentedIn(json, copy(json))])];
}

/** Shared by all schemas: each new instance would first compile the meta-schema of JSON Schema. */
let ajv: Promise<Ajv> | undefined;

async function loadAjv(): Promise<Ajv> {
  // Imported dynamically, so that production does not load them.
  const [{ Ajv2020 }, { default: formats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  const loaded = new Ajv2020({ strict: false, allErrors: true, logger: false });
  // A response of one class can also match another one, which has some of its properties.
  loaded.removeKeyword('oneOf').addKeyword({ keyword: 'oneOf', macro: (anyOf: readonly object[]) => ({ anyOf }) });
  return formats.default(loaded);
}

async function compile(schema: Schema, document: OpenApiDocument) {
  ajv ??= loadAjv();
  const schemas = document.get().components?.schemas ?? {};
  const validate = (await ajv).compile({ allOf: [schema], components: { schemas } });
  return { validate, copy: whitelistOf([schema], schemas) };
}

function describeMismatch({ instancePath, message }: ErrorObject): string {
  const pointer = instancePath.replaceAll(/\/\d+(?=\/|$)/g, '/*');
  return `${pointer || 'The body'} ${message}. Respond with that, or change what is documented.`;
}

function undocumentedIn(value: unknown, copy: unknown, pointer = ''): string[] {
  return Object.entries(Object(value) === value ? (value as object) : {}).flatMap(([name, part]: [string, unknown]) => {
    const path = `${pointer}/${Array.isArray(value) ? '*' : name}`;
    const kept = (Object(copy) as Record<string, unknown>)[name];
    return kept === undefined
      ? `${path} is not documented. Document it with @ApiProperty(), or leave it out.`
      : undocumentedIn(part, kept, path);
  });
}
