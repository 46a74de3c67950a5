import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationError } from 'class-validator';
import { UNKNOWN_NAME, type ValueFault } from '../http/problem.js';
import { quickCheckOf } from './quick-check.js';
import { rulesOf } from './rules-of.js';
import { RefusedValue } from './parsed.decorator.js';

/** What is asked of class-validator: a property that the class does not declare is an error. */
export const VALIDATOR_OPTIONS = {
  whitelist: true,
  forbidNonWhitelisted: true,
  forbidUnknownValues: true,
  // By it the elements of a list are found that break a rule.
  validationError: { target: true },
} as const;

/** One fault of an input, and where it is: property names from the root. */
export interface InputFault extends ValueFault {
  path: readonly string[];
}

/** The input as an instance of its class, if {@link quickCheckOf} finds that it keeps all rules. */
export function quickInput<T extends object>(type: Type<T>, plain: object): T | undefined {
  const check = quickCheckOf(type);
  if (!check || Array.isArray(plain) || Object.keys(plain).some((name) => isTaken(type, name))) {
    return undefined;
  }
  const value = toInstance(type, plain);
  return check(value) ? value : undefined;
}

/** A conversion to the class of an input failed, because a value has a type that it does not expect. */
export class NotConvertibleError extends Error {
  override readonly name = 'NotConvertibleError';
}

/** @throws NotConvertibleError when class-transformer, or a `@Transform` of the class, throws */
export function toInstance<T>(type: Type<T>, plain: unknown): T {
  try {
    return plainToInstance(type, plain);
  } catch (error) {
    throw new NotConvertibleError('An input cannot be converted to its class.', { cause: error });
  }
}

/**
 * An input without the names that cannot be set, those of what the class computes and of what every object has: Nest and
 * class-transformer leave them out. Each is a fault.
 */
export function withoutTakenNames(type: Type<object>, plain: object): { rest: object; faults: InputFault[] } {
  const taken = Object.keys(plain).filter((name) => isTaken(type, name));
  const rest = taken.length === 0 ? plain : Object.fromEntries(Object.entries(plain).filter(([name]) => !taken.includes(name)));
  return { rest, faults: taken.map((name) => ({ path: [name], code: 'unknown', detail: UNKNOWN_NAME })) };
}

function isTaken(type: Type<object>, name: string): boolean {
  return name in type.prototype || name === 'prototype';
}

/** The faults that class-validator found. */
export function faultsOf(errors: readonly ValidationError[]): InputFault[] {
  return errors.flatMap((error) => faultsOfProperty(error, []));
}

function faultsOfProperty(error: ValidationError, parents: readonly string[]): InputFault[] {
  const path = [...parents, error.property];
  const value: unknown = error.value;
  const constraints = error.constraints ?? {};
  if (value instanceof RefusedValue) {
    return [{ path, ...value.fault }];
  }
  if ('whitelistValidation' in constraints) {
    return [{ path, code: 'unknown', detail: UNKNOWN_NAME }];
  }
  if (value === undefined && error.constraints) {
    return [{ path, code: 'required', detail: 'is required' }];
  }
  const own = Object.entries(constraints).flatMap(([name, message]) => {
    const [code, detail] = [codeOf(name), detailOf(message, error.property)];
    return wrongElements(error, name).map((element) => ({ path: path.concat(element), code, detail }));
  });
  return [...own, ...(error.children ?? []).flatMap((child) => faultsOfProperty(child, path))];
}

/** `isInt` as `is_int`; rules of the platform have such names already. */
function codeOf(constraint: string): string {
  return constraint.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** class-validator's own messages begin with the property, or name it as a list. */
function detailOf(message: string, property: string): string {
  return message.replace(`each value in ${property} `, '').replace(`${property} `, '');
}

/** The places of the elements that break a rule for each of them; one empty place for a rule of the property itself. */
function wrongElements({ target, property, value }: ValidationError, constraint: string): string[][] {
  const rule = rulesOf(target?.constructor ?? Object).find(
    (metadata) => metadata.propertyName === property && metadata.name === constraint,
  );
  if (!rule?.each || !Array.isArray(value)) {
    return [[]];
  }
  const [{ instance } = { instance: undefined }] = getMetadataStorage().getTargetValidatorConstraints(rule.constraintCls);
  const context = { targetName: '', property, object: target ?? {}, constraints: rule.constraints };
  const wrong = value.flatMap((element: unknown, index) =>
    instance?.validate(element, { ...context, value: element }) === true ? [] : [[String(index)]],
  );
  return wrong.length > 0 ? wrong : [[]];
}
