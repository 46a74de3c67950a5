import type { CallHandler, ExecutionContext } from '@nestjs/common';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { Response } from 'express';
import { type Observable, tap } from 'rxjs';
import type { OpenApiDocument } from './openapi-document.js';
import { operationOf } from './operation-options.js';
import { mediaTypesOf, type Operation, type Schema, type Schemas } from './operations.js';
import { isFile, whitelistOf } from './response.interceptor.js';

const NO_BODY: Schema = { type: 'null' };
const ajv = formats.default(new Ajv2020({ strict: false, allErrors: true, logger: false }));
const validators = new WeakMap<Schema, ValidateFunction>();

/** What was wrong with responses of this process, for tests that do not look at all of them. */
export const wrongResponses = new Set<string>();

/** Fails when a handler with an `@Operation` responds with something else than that documents. */
export function checkResponse(document: OpenApiDocument, context: ExecutionContext, next: CallHandler): Observable<unknown> {
  const [controller, handler] = [context.getClass(), context.getHandler()];
  const check = (body: unknown) => {
    const response = context.getArgByIndex<Response>(1);
    // A response that was kept may be that of an older version.
    const isReplay = response.hasHeader('Idempotent-Replayed');
    const faults = isReplay
      ? []
      : faultsOf(body, response.statusCode, document.responsesOf(handler), document.get().components?.schemas ?? {});
    if (faults.length > 0) {
      const message = [`${controller.name}.${handler.name} responds with what is not documented:`, ...new Set(faults)].join(
        '\n- ',
      );
      wrongResponses.add(message);
      throw new Error(message);
    }
  };
  return operationOf({ controller, handler }) ? next.handle().pipe(tap(check)) : next.handle();
}

function faultsOf(body: unknown, status: number, responses: Operation['responses'], schemas: Schemas): string[] {
  if (!(status in responses)) {
    return [`The status ${status} is not documented. Set it with the status of @Operation().`];
  }
  if (isFile(body)) {
    return [];
  }
  const [{ schema = NO_BODY } = {}] = mediaTypesOf(responses[status]);
  const sent: unknown = JSON.parse(JSON.stringify(status === 204 ? null : (body ?? null)));
  const validate = validators.get(schema) ?? ajv.compile({ allOf: [schema], components: { schemas } });
  validators.set(schema, validate);
  const errors = (validate(sent) ? [] : (validate.errors ?? [])).map(({ instancePath, message }) => {
    const pointer = instancePath.replaceAll(/\/\d+(?=\/|$)/g, '/*') || 'The body';
    return `${pointer} ${message}. Respond with that, or change what is documented.`;
  });
  return [...leftOut(sent, whitelistOf([schema], schemas)(sent)), ...errors];
}

/** What a copy does not have; each element of a list is `*`. */
function leftOut(value: unknown, copy: unknown, pointer = ''): string[] {
  const copied = Object(copy) as Record<string, unknown>;
  return Object.entries(value instanceof Object ? value : {}).flatMap(([name, part]) => {
    const within = `${pointer}/${Array.isArray(value) ? '*' : name}`;
    return Object.hasOwn(copied, name)
      ? leftOut(part, copied[name], within)
      : `${within} is not documented. Document it with @ApiProperty(), or leave it out of the response.`;
  });
}
