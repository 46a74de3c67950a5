import { type ArgumentMetadata, Injectable, type Type, ValidationPipe } from '@nestjs/common';
import { instanceToPlain, plainToInstance } from 'class-transformer';
import { validate, type ValidationError } from 'class-validator';
import { invalidRequest } from '../http/invalid-request.js';
import { jsonPointer, type RequestFault } from '../http/problem.js';
import { missingBody } from '../http/read-json.js';
import { currentRequest } from '../http/request-context.js';
import { nestedFaults } from './nested-faults.js';
import { unstorableTexts } from './unstorable-text.js';
import { faultsOf, type InputFault, quickInput, VALIDATOR_OPTIONS, withoutTakenNames } from './input-faults.js';

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
  constructor() {
    super({
      ...VALIDATOR_OPTIONS,
      transform: true,
      validatorPackage: { validate },
      transformerPackage: { plainToInstance, classToPlain: instanceToPlain },
      exceptionFactory: (errors: ValidationError[]) => new InvalidInputError(errors),
    });
  }

  /** @throws Problem 400 with all faults of this part of the request */
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { type, data } = metadata;
    const request = currentRequest()?.request;
    if (type === 'body' && request && request.body === undefined) {
      throw missingBody(request);
    }
    const texts = type === 'body' ? unstorableTexts(value, data === undefined ? [] : [data]) : [];
    const { value: validated, faults } = await this.validated(value, metadata);
    if (texts.length + faults.length > 0) {
      throw invalidRequest([...texts, ...faults].map(type === 'body' ? asPointer : asParameter));
    }
    return validated;
  }

  private async validated(value: unknown, metadata: ArgumentMetadata): Promise<{ value: unknown; faults: InputFault[] }> {
    const metatype = metadata.metatype as Type<object> | undefined;
    if (!metatype || !this.toValidate(metadata) || typeof value !== 'object' || value === null) {
      return { value: await super.transform(value, metadata), faults: [] };
    }
    const { rest, faults } = withoutTakenNames(metatype, value);
    const valid = quickInput(metatype, rest);
    if (valid) {
      return { value: valid, faults };
    }
    try {
      const instance = (await super.transform(rest, metadata)) as object;
      return { value: instance, faults: [...faults, ...nestedFaults(instance)] };
    } catch (error) {
      if (error instanceof InvalidInputError) {
        return { value, faults: [...faults, ...faultsOf(error.errors)] };
      }
      throw error;
    }
  }
}

function asParameter({ path, ...fault }: InputFault): RequestFault {
  return { parameter: path.join('.'), ...fault };
}

function asPointer({ path, ...fault }: InputFault): RequestFault {
  return { pointer: jsonPointer(path), ...fault };
}
