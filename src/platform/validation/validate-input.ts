import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { type ValidationError, Validator } from 'class-validator';
import type { ValueFault } from '../http/problem.js';
import { quickCheckOf } from './quick-check.js';
import { RefusedValue } from './parsed.decorator.js';

const validator = new Validator();

/** One fault of an input, and where it is: property names from the root. */
export interface InputFault extends ValueFault {
  path: readonly string[];
}

/** The input as an instance of its class, and every fault found in it. With faults the value must not be used. */
export interface ValidatedInput<T> {
  value: T;
  faults: InputFault[];
}

/**
 * Checks a plain object against a class whose properties carry validation decorators.
 * A property the class does not declare is a fault: a typing error is named instead of ignored.
 *
 * @param type - the class
 * @param plain - untrusted input; must not nest deeply (see `readJsonObject`)
 */
export function validateInput<T extends object>(type: Type<T>, plain: object): ValidatedInput<T> {
  // What the class computes, and what every object has, cannot be set.
  const isTaken = (name: string) => name in type.prototype;
  const dropped = Object.keys(plain).filter(isTaken);
  const rest = dropped.length === 0 ? plain : Object.fromEntries(Object.entries(plain).filter(([name]) => !isTaken(name)));
  const value = plainToInstance(type, rest);
  if (dropped.length === 0 && quickCheckOf(type)(value)) {
    return { value, faults: [] };
  }
  const errors = validator.validateSync(value, { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true });
  return {
    value,
    faults: [...dropped.map((name) => unknownProperty([name])), ...errors.flatMap((error) => faultsOf(error, []))],
  };
}

function faultsOf(error: ValidationError, parents: readonly string[]): InputFault[] {
  const path = [...parents, error.property];
  if (error.value instanceof RefusedValue) {
    return [{ path, ...error.value.fault }];
  }
  const own = Object.entries(error.constraints ?? {}).map(([name, message]) =>
    name === 'whitelistValidation' ? unknownProperty(path) : { path, code: name, detail: message },
  );
  return [...own, ...(error.children ?? []).flatMap((child) => faultsOf(child, path))];
}

/** The error of a property that is not declared. */
export function unknownProperty(path: readonly string[]): InputFault {
  return { path, code: 'unknown', detail: 'is not known here: check its spelling or leave it out' };
}
