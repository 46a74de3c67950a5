import type { CallHandler, ExecutionContext } from '@nestjs/common';
import type { ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import type { Response } from 'express';
import { type Observable, tap } from 'rxjs';
import type { OpenApiDocument } from './openapi-document.js';
import { operationOf } from './operation-options.js';
import { mediaTypesOf, type Operation, type Schema, type Schemas } from './operations.js';
import { isFile, whitelistOf } from './response.interceptor.js';

const NO_BODY: Schema = { type: 'null' };
const validators = new WeakMap<Schema, ValidateFunction>();

/** What was wrong with responses of this process, for tests that do not look at all of them. */
export const wrongResponses = new Set<string>();

let ajv: Promise<Ajv2020> | undefined;

/** At the first check, so that production loads none of it. */
async function load(): Promise<Ajv2020> {
  const [{ Ajv2020: Validator }, { default: formats }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv-formats')]);
  return formats.default(new Validator({ strict: false, allErrors: true, logger: false }));
}

/** Fails when a handler with an `@Operation` responds with something else than that documents. */
export async function checkResponse(
  document: OpenApiDocument,
  context: ExecutionContext,
  next: CallHandler,
): Promise<Observable<unknown>> {
  const validator = await (ajv ??= load());
  const [controller, handler] = [context.getClass(), context.getHandler()];
  const { schemas = {} } = document.get().components ?? {};
  const check = (body: unknown) => {
    const response = context.getArgByIndex<Response>(1);
    const { statusCode: status } = response;
    const sent = status === 204 ? null : body;
    // A response that was kept may be that of an older version.
    const isReplay = response.hasHeader('Idempotent-Replayed');
    const faults = isReplay ? [] : faultsOf(sent, document.responsesOf(handler)[status], schemas, validator);
    if (faults.length > 0) {
      const title = `${controller.name}.${handler.name} responds ${status} with what is not documented:`;
      const message = [title, ...new Set(faults)].join('\n- ');
      wrongResponses.add(message);
      throw new Error(message);
    }
  };
  return operationOf({ controller, handler }) ? next.handle().pipe(tap(check)) : next.handle();
}

function faultsOf(body: unknown, success: Operation['responses'][string], schemas: Schemas, validator: Ajv2020): string[] {
  if (!success) {
    return ['The status is not documented. Set it with the status of @Operation().'];
  }
  if (isFile(body)) {
    return [];
  }
  const [{ schema = NO_BODY } = {}] = mediaTypesOf(success);
  const sent: unknown = JSON.parse(JSON.stringify(body ?? null));
  const validate = validators.get(schema) ?? validator.compile({ allOf: [schema], components: { schemas } });
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
