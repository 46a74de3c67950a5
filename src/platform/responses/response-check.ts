import type { CallHandler, ExecutionContext } from '@nestjs/common';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import type { Response } from 'express';
import { mergeMap, type Observable } from 'rxjs';
import { mediaTypesOf, type OpenApiDocument, type Schema, type Schemas } from '../openapi/openapi-document.js';
import { operationOf } from '../routes/operation.js';
import { isFile } from './response.interceptor.js';

const NO_BODY: Schema = { type: 'null' };

/** All undocumented responses of this process, for tests. */
export const wrongResponses = new Set<string>();

const validators = new WeakMap<Schema, ValidateFunction>();

/** Fails if the response of a handler with `@Operation` does not match its documentation. */
export function checkResponse(document: OpenApiDocument, context: ExecutionContext, next: CallHandler): Observable<unknown> {
  const [controller, handler] = [context.getClass(), context.getHandler()];
  const check = async (body: unknown) => {
    const { statusCode: status } = context.getArgByIndex<Response>(1);
    const success = document.responsesOf(handler)[status];
    const [{ schema = NO_BODY } = {}] = mediaTypesOf(success);
    const validate = validators.get(schema) ?? (await compile(schema, document));
    const isValid = isFile(body) || validate(status === 204 ? null : JSON.parse(JSON.stringify(body ?? null)));
    if (!success || !isValid) {
      const faults = success
        ? new Set(validate.errors?.map(describeMismatch))
        : ['Its status is not documented: set `status` in @Operation().'];
      const message = [`${controller.name}.${handler.name} responds ${status}, not as documented:`, ...faults].join('\n- ');
      wrongResponses.add(message);
      throw new Error(message);
    }
    return body;
  };
  return operationOf({ controller, handler }) ? next.handle().pipe(mergeMap(check)) : next.handle();
}

/** For all schemas: each new one would compile the schema of schemas first. */
let ajv: Promise<Ajv> | undefined;

async function loadAjv(): Promise<Ajv> {
  // Imported here, so that production does not load them.
  const [{ Ajv2020 }, { default: formats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  return formats.default(new Ajv2020({ strict: false, allErrors: true, logger: false }));
}

async function compile(schema: Schema, document: OpenApiDocument): Promise<ValidateFunction> {
  ajv ??= loadAjv();
  const validate = (await ajv).compile({ allOf: [schema], components: { schemas: closed(document) } });
  validators.set(schema, validate);
  return validate;
}

function closed(document: OpenApiDocument): Schemas {
  const schemas = Object.entries(document.get().components?.schemas ?? {});
  return Object.fromEntries(schemas.map(([name, schema]) => [name, { additionalProperties: false, ...schema }]));
}

function describeMismatch({ instancePath, keyword, params, message }: ErrorObject): string {
  const pointer = instancePath.replaceAll(/\/\d+(?=\/|$)/g, '/*');
  return keyword === 'additionalProperties'
    ? `${pointer}/${String(params['additionalProperty'])} is not documented. Document it with @ApiProperty(), or leave ` +
        'it out.'
    : `${pointer || 'The body'} ${message}. Respond with that, or change what is documented.`;
}
