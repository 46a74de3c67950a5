import { type ArgumentMetadata, Injectable, Logger, type Type, ValidationPipe } from '@nestjs/common';
import { instanceToPlain } from 'class-transformer';
import { validate, type ValidationError } from 'class-validator';
import { invalidRequest } from '../http/invalid-request.js';
import { jsonPointer, type RequestFault } from '../http/problem.js';
import { missingBody } from '../http/read-json.js';
import { currentRequest } from '../http/request-context.js';
import { nestedFaults } from './nested-faults.js';
import { unstorableTexts } from './unstorable-text.js';
import {
  faultsOf,
  type InputFault,
  NotConvertibleError,
  quickInput,
  toInstance,
  VALIDATOR_OPTIONS,
  withoutTakenNames,
} from './input-faults.js';

/** What the stock pipe throws here. */
class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError';

  constructor(readonly errors: readonly ValidationError[]) {
    super('The input is not valid.');
  }
}

/**
 * Nest's `ValidationPipe`, whose errors are problems with one fault for each rule that is broken. The rules of a class are looked up
 * once where class-validator does it for each input: stock, a first page and a create take 43 % longer.
 */
@Injectable()
export class RequestValidationPipe extends ValidationPipe {
  private readonly logger = new Logger('Validation');

  constructor() {
    super({
      ...VALIDATOR_OPTIONS,
      transform: true,
      validatorPackage: { validate },
      transformerPackage: { plainToInstance: toInstance, classToPlain: instanceToPlain },
      exceptionFactory: (errors: ValidationError[]) => new InvalidInputError(errors),
    });
  }

  /** @throws Problem 400 with all faults of this part of the request */
  override transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const metatype = metadata.metatype as Type<object> | undefined;
    const type = metatype && isObject(value) && this.toValidate(metadata) ? metatype : undefined;
    const texts = metadata.type === 'body' ? textFaults(value) : [];
    const valid = type && isObject(value) && texts.length === 0 ? quickInput(type, value) : undefined;
    return valid ? Promise.resolve(valid) : this.findFaults(value, metadata, type, texts);
  }

  private async findFaults(
    value: unknown,
    metadata: ArgumentMetadata,
    type: Type<object> | undefined,
    texts: readonly InputFault[],
  ): Promise<unknown> {
    const { rest, faults: taken } = type && isObject(value) ? withoutTakenNames(type, value) : { rest: value, faults: [] };
    const faults = [...texts, ...taken];
    let validated: unknown;
    try {
      validated = await super.transform(rest, metadata);
      faults.push(...(type && isObject(validated) ? nestedFaults(validated) : []));
    } catch (error) {
      if (error instanceof NotConvertibleError) {
        this.logger.warn({ msg: error.message, err: error.cause });
        faults.push({ path: [], code: 'type', detail: 'has a value of a type that is not expected' });
      } else if (error instanceof InvalidInputError) {
        faults.push(...faultsOf(error.errors));
      } else {
        throw error;
      }
    }
    if (faults.length > 0) {
      const root = metadata.data === undefined ? [] : [metadata.data];
      throw invalidRequest(faults.map((fault) => (metadata.type === 'body' ? asPointer(fault, root) : asParameter(fault, root))));
    }
    return validated;
  }
}

/** @throws Problem 400 without a body */
function textFaults(value: unknown): InputFault[] {
  const request = currentRequest()?.request;
  if (request && request.body === undefined) {
    throw missingBody(request);
  }
  return unstorableTexts(value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function asParameter({ path, ...fault }: InputFault, root: readonly string[]): RequestFault {
  return { parameter: [...root, ...path].join('.'), ...fault };
}

function asPointer({ path, ...fault }: InputFault, root: readonly string[]): RequestFault {
  return { pointer: jsonPointer([...root, ...path]), ...fault };
}
