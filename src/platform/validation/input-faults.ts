import { type ValidationError, ValidationTypes } from 'class-validator';
import { UNKNOWN_NAME, type ValueFault } from '../problems/problem.js';
import { type ClassRule, constraintsOf, RefusedValue, rulesOf } from './rule.js';

/** A fault of an input, with property names from the root. */
export interface InputFault extends ValueFault {
  path: readonly string[];
}

/** @param isReported - whether faults of the list around these elements already report elements that are no objects */
export function faultsOf(
  errors: readonly ValidationError[],
  parents: readonly string[] = [],
  isReported = false,
): InputFault[] {
  return errors.flatMap((error) => {
    const { property, constraints = {}, children = [] } = error;
    const value: unknown = error.value;
    const path = [...parents, property];
    if (value instanceof RefusedValue) {
      return [{ path, ...value.fault }];
    }
    // An object of a class without rules. The error has no property.
    if ('unknownValue' in constraints) {
      return [{ path: parents, code: 'type', detail: 'must not be an object' }];
    }
    if ('whitelistValidation' in constraints) {
      return [{ path, code: 'unknown', detail: UNKNOWN_NAME }];
    }
    if (value === undefined && error.constraints) {
      return [{ path, code: 'required', detail: 'is required' }];
    }
    // `collectRules` adds a rule that says more, except to a class that `@Type()` chooses by the input.
    const broken = Object.entries(constraints).filter(([name]) => name !== ValidationTypes.NESTED_VALIDATION);
    if (broken.length === 0 && error.constraints) {
      return isReported ? [] : [{ path, code: 'type', detail: 'must be an object' }];
    }
    const own = broken.flatMap(([name, message]) => {
      const [code, detail] = [codeOf(name), detailOf(message, property)];
      return wrongElements(error, name).map((element) => ({ path: [...path, ...element], code, detail }));
    });
    return [...own, ...faultsOf(children, path, broken.length > 0)];
  });
}

/** Removes the property from the start of class-validator's messages, and the JavaScript class `Date` from one of them. */
function detailOf(message: string, property: string): string {
  const starts = [`each value in ${property} `, `${property} `];
  const rest = starts.flatMap((start) => (message.startsWith(start) ? message.slice(start.length) : []));
  const detail = rest.find((text) => /^(?:must|should|is) /.test(text)) ?? message;
  // A validator without a message, and a rule with an empty one.
  if (detail === '') {
    return 'is not valid';
  }
  return detail === 'must be a Date instance' ? 'must be a date and time, like 2026-01-31T12:00:00Z' : detail;
}

/** The code of a constraint: `is_int` for class-validator's `isInt`, and `is_free` for a class `IsFree` without a name. */
function codeOf(constraint: string): string {
  return constraint.replaceAll(/[A-Z]/g, (letter, index) => `${index > 0 ? '_' : ''}${letter.toLowerCase()}`);
}

/** The codes of the faults that a rule finds. */
export function codesOf(rule: ClassRule): string[] {
  // For a constraint without a name, class-validator names the error after the type of its rule.
  return constraintsOf(rule).map(({ name }) => codeOf(name || rule.type));
}

const rulesByClass = new WeakMap<object, ReturnType<typeof rulesOf>>();

/** Paths of the elements that break a synchronous `each` rule; one empty path for a rule of the property itself. */
function wrongElements({ target = {}, property, value }: ValidationError, constraint: string): string[][] {
  const rules = Array.isArray(value) ? rulesByClass.getOrInsertComputed(target.constructor, rulesOf) : [];
  const rule = rules.find((each) => each.propertyName === property && constraintsOf(each)[0]?.name === constraint);
  const [found] = rule ? constraintsOf(rule) : [];
  // An asynchronous constraint, which may query a database, is not run again for each element.
  if (!rule?.each || !Array.isArray(value) || found?.async === true) {
    return [[]];
  }
  const context = { targetName: '', property, object: target, value, constraints: rule.constraints };
  const results: unknown[] = value.map((element: unknown) => found?.instance.validate(element, context));
  // A rule that is not marked as async may return promises, too. Results that are truthy are valid.
  const promises = results.filter((result) => result instanceof Promise);
  for (const promise of promises) promise.catch(() => undefined);
  const wrong = promises.length > 0 ? [] : results.flatMap((result, index) => (result ? [] : [[String(index)]]));
  return wrong.length > 0 ? wrong : [[]];
}

/**
 * Finds texts that PostgreSQL cannot store byte for byte: those with U+0000 or a lone surrogate. Replaces the surrogates in
 * an object, which is refused: rules such as `@IsEmail()` throw for them.
 */
export function unstorableTexts(value: unknown, path: string[] = [], faults: InputFault[] = []): InputFault[] {
  if (typeof value === 'string' && (value.includes('\0') || !value.isWellFormed())) {
    faults.push({ path: [...path], code: 'character', detail: 'must not contain U+0000 or a lone surrogate' });
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, part] of Object.entries(value)) {
      const found = faults.length;
      path.push(name);
      unstorableTexts(part, path, faults);
      path.pop();
      if (typeof part === 'string' && faults.length > found) {
        Reflect.set(value, name, part.toWellFormed());
      }
    }
  }
  return faults;
}
