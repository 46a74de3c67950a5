import {
  type ArgumentMetadata,
  Injectable,
  Logger,
  StandardSchemaValidationPipe,
  type StandardSchemaValidationPipeOptions,
  type Type,
  ValidationPipe,
} from '@nestjs/common';
import { instanceToPlain, plainToInstance } from 'class-transformer';
import { validate, type ValidationError, type ValidatorOptions } from 'class-validator';
import { bodyRequiredProblem, currentRequest } from '../requests/request.js';
import { invalidRequest, jsonPointer, MAXIMUM_FAULTS, type FieldError, UNKNOWN_NAME } from '../problems/problem.js';
import { faultsOf, type InputFault, unstorableTexts } from './input-faults.js';
import {
  collectRules,
  type Discriminator,
  discriminatorOf,
  isNested,
  isObject,
  nestedClasses,
  quickCheckOf,
  rulesOf,
} from './rule.js';

type Issue = Parameters<NonNullable<StandardSchemaValidationPipeOptions['exceptionFactory']>>[0][number];

/** The names in a query that are documented as arrays: if such a name is given once, its value is an array of one. */
export const listsIn = new WeakMap<object, ReadonlySet<string>>();

class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError';

  constructor(readonly faults: readonly InputFault[]) {
    super('The input is not valid.');
  }
}

/** Nest's `ValidationPipe` with problems as errors. Without compiled rules, a first page takes 43 % more time (ADR 28). */
@Injectable()
export class RequestValidationPipe extends ValidationPipe {
  private readonly schemas = new StandardSchemaValidationPipe({
    validateCustomDecorators: true,
    exceptionFactory: (issues) => new InvalidInputError(issues.map(schemaFault)),
  });

  constructor() {
    super({
      transform: true,
      whitelist: true,
      forbidNonWhitelisted: true,
      forbidUnknownValues: true,
      // `faultsOf` needs both to find invalid elements. Without `value`, Nest removes it from an error that has children.
      validationError: { target: true, value: true },
      validatorPackage: { validate },
      transformerPackage: { plainToInstance: toInstance, classToPlain: instanceToPlain },
      exceptionFactory: (errors) => new InvalidInputError(faultsOf(errors)),
    });
  }

  /** @throws Problem 400 with all faults of this part of the request */
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const isBody = metadata.type === 'body';
    const faults = isBody ? bodyFaults(value) : [];
    const { validate: isChecked = true, items } = (isBody && currentRequest()?.declaredBody) || {};
    let input = value;
    if (items && isChecked && Array.isArray(value)) {
      input = await this.transformItems(value, { ...metadata, metatype: items }, faults);
    } else if (isChecked && !(this.toValidate(metadata) && isKey(value, metadata))) {
      input = await this.transformInput(value, metadata, faults);
    }
    if (faults.length > 0) {
      throw invalidRequest(
        faults.slice(0, MAXIMUM_FAULTS).map((fault) => located(fault, metadata)),
        faults.length,
      );
    }
    return input;
  }

  /** @param faults - gets the faults of the value. @returns the converted input, which must not be used if there are any */
  private async transformInput(value: unknown, metadata: ArgumentMetadata, faults: InputFault[]): Promise<unknown> {
    try {
      if (!metadata.schema && this.toValidate(metadata) && isObject(value)) {
        faults.push(...removeUnsettable(value, metadata.metatype as Type<object>));
      }
      return await (metadata.schema ? this.schemas.transform(value, metadata) : super.transform(value, metadata));
    } catch (error) {
      if (!(error instanceof InvalidInputError)) {
        throw error;
      }
      faults.push(...error.faults);
      return undefined;
    }
  }

  /** Converts the elements of a body, up to those after which `faults` has as many as a response reports. */
  private async transformItems(items: readonly unknown[], metadata: ArgumentMetadata, faults: InputFault[]) {
    const inputs: unknown[] = [];
    for (const [index, item] of items.entries()) {
      const own: InputFault[] = isObject(item) ? [] : [{ path: [], code: 'type', detail: 'must be an object' }];
      inputs.push(isObject(item) && (await this.transformInput(item, metadata, own)));
      for (const fault of own) faults.push({ ...fault, path: [String(index), ...fault.path] });
      if (faults.length >= MAXIMUM_FAULTS) break;
    }
    return inputs;
  }

  /** Asks class-validator only if the compiled rules do not find the input valid. */
  protected override validate(input: object, options?: ValidatorOptions): Promise<ValidationError[]> | ValidationError[] {
    return quickCheckOf(input.constructor as Type<object>)?.(input) ? [] : super.validate(input, options);
  }
}

/** Whether a pipe of the parameter makes an object of this, as by the text in `@Param('id', CatByIdPipe) cat: Cat`. */
function isKey(value: unknown, { data, metatype, schema }: ArgumentMetadata): boolean {
  const isPart = data !== undefined && schema === undefined;
  return isPart && Object(value) !== value && rulesOf(metatype as Type<object>).length === 0;
}

/** An issue of a Standard Schema, which has no code. */
function schemaFault({ message, path = [] }: Issue): InputFault {
  const steps = path.map((step) => String(typeof step === 'object' ? step.key : step));
  return { path: steps, code: 'type', detail: message };
}

/** @throws InvalidInputError if class-transformer or a `@Transform` throws */
function toInstance<T>(type: Type<T>, plain: unknown): T {
  try {
    const instance = plainToInstance(type, plain);
    for (const name of listsIn.get(plain as object) ?? []) {
      const value: unknown = Reflect.get(instance as object, name);
      // After transformations, which may split a text. A `RefusedValue` stays one.
      if (/^(?:string|number|boolean)$/.test(typeof value) || value instanceof Date) {
        Reflect.set(instance as object, name, [value]);
      }
    }
    return instance;
  } catch (error) {
    new Logger('Validation').warn({ msg: 'converting an input to its class failed', err: error });
    throw new InvalidInputError([{ path: [], code: 'type', detail: 'contains a value of an unexpected type' }]);
  }
}

/** Whether instances have a name without a setter, or from `Object.prototype`: `__proto__` would replace the prototype. */
function isUnsettable({ prototype }: Type<object>, name: string): boolean {
  let owner: object | null = prototype as object;
  while (owner && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner) as object | null;
  return owner !== null && (owner === Object.prototype || !Object.getOwnPropertyDescriptor(owner, name)?.set);
}

/** Removes and reports names that cannot be set (getters, `toString`), which Nest and class-transformer would ignore. */
function removeUnsettable(plain: object, type: Type<object>, path: readonly string[] = []): InputFault[] {
  const names = Object.keys(plain).filter((name) => name === 'prototype' || isUnsettable(type, name));
  names.forEach((name) => Reflect.deleteProperty(plain, name));
  const nested = nestedInputsOf(type).flatMap(([property, classOf]) => {
    const value: unknown = Reflect.get(plain, property);
    const parts: readonly (readonly [string[], unknown])[] = Array.isArray(value)
      ? value.map((each: unknown, index) => [[property, String(index)], each])
      : [[[property], value]];
    return parts.flatMap(([at, each]) => (isObject(each) ? removeUnsettable(each, classOf(each), [...path, ...at]) : []));
  });
  return [...names.map((name) => ({ path: [...path, name], code: 'unknown' as const, detail: UNKNOWN_NAME })), ...nested];
}

type ClassOf = (input: object) => Type<object>;

const nestedInputs = new WeakMap<Type<object>, (readonly [property: string, classOf: ClassOf])[]>();

/** The properties with `@ValidateNested()` of a class, with the class that each has for an input. */
function nestedInputsOf(type: Type<object>) {
  return nestedInputs.getOrInsertComputed(type, () =>
    // `collectRules` also completes rules of inputs that are not in the OpenAPI document, such as messages.
    (collectRules(type).get(type) ?? []).filter(isNested).flatMap(({ propertyName }) => {
      const discriminator = discriminatorOf(type, propertyName);
      return nestedClasses(type, propertyName).map((part) => [propertyName, classChooser(discriminator, part)] as const);
    }),
  );
}

/** Chooses the class of an input as class-transformer does. @param otherwise - the class for any other input */
function classChooser(discriminator: Discriminator | undefined, otherwise: Type<object>): ClassOf {
  return (input) =>
    discriminator?.subTypes.find(({ name }) => name === Reflect.get(input, discriminator.property))?.value ?? otherwise;
}

/** @throws Problem 400 if there is no body */
function bodyFaults(body: unknown): InputFault[] {
  const request = currentRequest();
  if (request && request.body === undefined) {
    throw bodyRequiredProblem(request);
  }
  return Buffer.isBuffer(body) ? [] : unstorableTexts(body);
}

function located({ path, ...fault }: InputFault, { type, data }: ArgumentMetadata): FieldError {
  const steps = data === undefined ? path : [data, ...path];
  return type === 'body' ? { pointer: jsonPointer(steps), ...fault } : { parameter: steps.join('.'), ...fault };
}
