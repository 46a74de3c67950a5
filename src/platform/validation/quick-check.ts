import type { Type } from '@nestjs/common';
import { getMetadataStorage, type ValidatorConstraintInterface } from 'class-validator';
import { rulesOf } from './rules-of.js';

/** The rules of one property, each as a test. */
interface Rules {
  readonly property: string;
  /** All of them hold, or the rules do not apply. */
  readonly conditions: readonly ((input: object, value: unknown) => boolean)[];
  readonly constraints: readonly { readonly rule: ValidatorConstraintInterface; readonly options: unknown[] }[];
}

/** Whether an input keeps every rule of its class. */
export type QuickCheck = (input: object) => boolean;

const checks = new WeakMap<Type<object>, QuickCheck | undefined>();

/**
 * The rules of a class, looked up once. class-validator looks them up, and groups them, for each input: it is asked only what is
 * wrong with one that breaks a rule.
 *
 * @returns undefined for classes with rules of kinds that are not known here
 */
export function quickCheckOf(type: Type<object>): QuickCheck | undefined {
  if (!checks.has(type)) {
    checks.set(type, compile(type));
  }
  return checks.get(type);
}

function compile(type: Type<object>): QuickCheck | undefined {
  const storage = getMetadataStorage();
  const metadata = rulesOf(type);
  const isKnown = metadata.every(
    ({ type: kind, each, groups, constraintCls }) =>
      !each &&
      // Undefined for some kinds, in spite of its type.
      ((groups as readonly string[] | undefined) ?? []).length === 0 &&
      (kind === 'conditionalValidation' ||
        kind === 'whitelistValidation' ||
        (kind === 'customValidation' &&
          storage.getTargetValidatorConstraints(constraintCls).every(({ async: isAsync }) => !isAsync))),
  );
  if (!isKnown) {
    return undefined;
  }
  const names = new Set(metadata.map(({ propertyName }) => propertyName));
  const rules = [...names].map((property): Rules => {
    const own = metadata.filter(({ propertyName }) => propertyName === property);
    return {
      property,
      conditions: own.flatMap(({ type: kind, constraints }) =>
        kind === 'conditionalValidation' ? [constraints[0] as Rules['conditions'][number]] : [],
      ),
      constraints: own.flatMap(({ type: kind, constraintCls, constraints }) =>
        kind === 'customValidation'
          ? storage
              .getTargetValidatorConstraints(constraintCls)
              .map(({ instance }) => ({ rule: instance, options: constraints as unknown[] }))
          : [],
      ),
    };
  });
  return (input) => Object.keys(input).every((name) => names.has(name)) && rules.every((rule) => keeps(input, rule));
}

function keeps(input: object, { property, conditions, constraints }: Rules): boolean {
  const value = (input as Record<string, unknown>)[property];
  if (!conditions.every((holds) => holds(input, value))) {
    return true;
  }
  const targetName = input.constructor.name;
  return constraints.every(({ rule, options }) => {
    const result = rule.validate(value, { targetName, property, object: input, value, constraints: options });
    if (typeof result === 'object') {
      // class-validator asks once more, and waits.
      result.catch(() => undefined);
    }
    return result === true;
  });
}
