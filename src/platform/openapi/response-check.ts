import type { CallHandler, ExecutionContext } from '@nestjs/common';
import type { ErrorObject, ValidateFunction } from 'ajv';
import type { Response } from 'express';
import { type Observable, tap } from 'rxjs';
import type { OpenApiDocument } from './openapi-document.js';
import { operationOf } from './route-documentation.js';
import { mediaTypesOf, type Schema, type Schemas } from './operations.js';
import { isFile } from './response.interceptor.js';

const NO_BODY: Schema = { type: 'null' };

/** All undocumented responses of this process, for tests. */
export const wrongResponses = new Set<string>();

let ajv: ReturnType<typeof loadAjv> | undefined;

/** Loaded at the first check, so that production does not load it. */
async function loadAjv() {
  const [{ Ajv2020 }, { default: formats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  return formats.default(new Ajv2020({ strict: false, allErrors: true, logger: false }));
}

const validators = new WeakMap<Schema, ValidateFunction>();

/** Fails if the response of a handler with `@Operation` does not match its documentation. */
export async function checkResponse(
  document: OpenApiDocument,
  context: ExecutionContext,
  next: CallHandler,
): Promise<Observable<unknown>> {
  const [controller, handler] = [context.getClass(), context.getHandler()];
  if (!operationOf({ controller, handler })) {
    return next.handle();
  }
  const validator = await (ajv ??= loadAjv());
  const check = (body: unknown) => {
    const { statusCode: status } = context.getArgByIndex<Response>(1);
    const success = document.responsesOf(handler)[status];
    const [{ schema = NO_BODY } = {}] = mediaTypesOf(success);
    const validate = validators.get(schema) ?? validator.compile({ allOf: [schema], components: { schemas: closed(document) } });
    validators.set(schema, validate);
    const isValid = isFile(body) || validate(status === 204 ? null : JSON.parse(JSON.stringify(body ?? null)));
    if (!success || !isValid) {
      const faults = success ? new Set(validate.errors?.map(describe)) : ['Its status is not documented.'];
      const message = [`${controller.name}.${handler.name} responds ${status}, not as documented:`, ...faults].join('\n- ');
      wrongResponses.add(message);
      throw new Error(message);
    }
  };
  return next.handle().pipe(tap(check));
}

function closed(document: OpenApiDocument): Schemas {
  const schemas = Object.entries(document.get().components?.schemas ?? {});
  return Object.fromEntries(schemas.map(([name, schema]) => [name, { additionalProperties: false, ...schema }]));
}

function describe({ instancePath, keyword, params, message }: ErrorObject): string {
  const pointer = instancePath.replaceAll(/\/\d+(?=\/|$)/g, '/*');
  return keyword === 'additionalProperties'
    ? `${pointer}/${String(params['additionalProperty'])} is not documented. Document it with @ApiProperty(), or leave it out.`
    : `${pointer || 'The body'} ${message}. Respond with that, or change what is documented.`;
}
