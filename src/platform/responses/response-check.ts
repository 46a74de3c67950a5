import type { CallHandler, ExecutionContext } from '@nestjs/common';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import type { Response } from 'express';
import { mergeMap, type Observable } from 'rxjs';
import { mediaTypesOf, type OpenApiDocument, type Schema } from '../openapi/openapi-document.js';
import { operationOf } from '../routes/operation.js';
import { isResultConverted } from '../routes/route.js';
import { closeSchema, closeSchemas } from './closed-schemas.js';
import { isFile } from './whitelist.js';

const NO_BODY: Schema = { type: 'null' };

/** Messages about all undocumented responses of this process, for tests. */
export const wrongResponses = new Set<string>();

const validators = new WeakMap<Schema, Promise<ValidateFunction>>();

/** Fails if the response of a handler with `@Operation` does not match its documentation. */
export function checkResponse(document: OpenApiDocument, context: ExecutionContext, next: CallHandler): Observable<unknown> {
  const [controller, handler] = [context.getClass(), context.getHandler()];
  const check = async (body: unknown) => {
    const { statusCode: status } = context.getArgByIndex<Response>(1);
    const success = document.find(handler)?.operation.responses[status];
    const [{ schema = {} } = { schema: NO_BODY }] = mediaTypesOf(success);
    const validate = await validators.getOrInsertComputed(schema, () => compile(schema, document));
    const isValid =
      (isFile(body) && typeof body !== 'string') ||
      validate(status === 204 ? null : JSON.parse(JSON.stringify(body ?? null)));
    if (!success || !isValid) {
      const faults = success ? mismatchesOf(validate) : ['Its status is not documented: set `status` in @Operation().'];
      const message = [`${controller.name}.${handler.name} responds ${status}, not as documented:`, ...faults].join('\n- ');
      wrongResponses.add(message);
      throw new Error(message);
    }
    return body;
  };
  const isChecked = operationOf({ controller, handler }) && !isResultConverted({ handler });
  return isChecked ? next.handle().pipe(mergeMap(check)) : next.handle();
}

/** Shared by all schemas: each new instance would first compile the meta-schema of JSON Schema. */
let ajv: Promise<Ajv> | undefined;

async function loadAjv(): Promise<Ajv> {
  // Imported dynamically, so that production does not load them.
  const [{ Ajv2020 }, { default: formats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  return formats.default(new Ajv2020({ strict: false, allErrors: true, logger: false }));
}

async function compile(schema: Schema, document: OpenApiDocument): Promise<ValidateFunction> {
  ajv ??= loadAjv();
  const schemas = document.get().components?.schemas ?? {};
  return (await ajv).compile({ allOf: [closeSchema(schema, schemas)], components: closeSchemas(schemas) });
}

function mismatchesOf({ errors }: ValidateFunction): ReadonlySet<string> {
  // After any other error, Ajv also reports the documented properties of a composed object as unevaluated.
  const all = errors ?? [];
  const certain = all.filter(({ keyword }) => keyword !== 'unevaluatedProperties');
  return new Set((certain.length > 0 ? certain : all).map(describeMismatch));
}

function describeMismatch({ instancePath, params, message }: ErrorObject): string {
  const pointer = instancePath.replaceAll(/\/\d+(?=\/|$)/g, '/*');
  const undocumented = (params['additionalProperty'] ?? params['unevaluatedProperty']) as string | undefined;
  return undocumented === undefined
    ? `${pointer || 'The body'} ${message}. Respond with that, or change what is documented.`
    : `${pointer}/${undocumented} is not documented. Document it with @ApiProperty(), or leave it out.`;
}
