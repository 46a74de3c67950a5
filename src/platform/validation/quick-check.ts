import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { rulesOf } from './rule.js';

/** Whether an input keeps every rule of its class. */
type QuickCheck = (input: object) => boolean;

type ClassRule = ReturnType<typeof rulesOf>[number];

const KINDS: ReadonlySet<string> = new Set(['customValidation', 'conditionalValidation', 'whitelistValidation']);

const checks = new WeakMap<Type<object>, QuickCheck | undefined>();

/**
 * The rules of a class, looked up once: class-validator looks them up, and groups them, for each input.
 *
 * @returns undefined for classes with rules of kinds that only class-validator itself checks
 */
export function quickCheckOf(type: Type<object>): QuickCheck | undefined {
  if (!checks.has(type)) {
    const rules = rulesOf(type);
    checks.set(type, rules.every(isKnown) ? compile(rules) : undefined);
  }
  return checks.get(type);
}

function isKnown(rule: ClassRule): boolean {
  // Undefined for some kinds, in spite of its type.
  const groups = rule.groups as readonly string[] | undefined;
  return !rule.each && !groups?.length && KINDS.has(rule.type) && constraintsOf(rule).every(({ async: isAsync }) => !isAsync);
}

function compile(rules: readonly ClassRule[]): QuickCheck {
  const known = new Set(rules.map(({ propertyName }) => propertyName));
  const tests = rules.flatMap((rule) => testsOf(rule, rules));
  return (input) => Object.keys(input).every((name) => known.has(name)) && tests.every((test) => test(input));
}

function testsOf(rule: ClassRule, all: readonly ClassRule[]): QuickCheck[] {
  const { propertyName: property, constraints } = rule;
  const conditions = all
    .filter(({ type, propertyName }) => type === 'conditionalValidation' && propertyName === property)
    .map((condition) => condition.constraints[0] as (input: object, value: unknown) => boolean);
  return constraintsOf(rule).map(({ instance }) => (input) => {
    const value: unknown = (input as Record<string, unknown>)[property];
    const context = { targetName: input.constructor.name, property, object: input, value, constraints };
    return conditions.some((holds) => !holds(input, value)) || isTrue(instance.validate(value, context));
  });
}

function constraintsOf({ constraintCls }: ClassRule) {
  return getMetadataStorage().getTargetValidatorConstraints(constraintCls);
}

/** A promise is not: class-validator asks once more, and waits. */
function isTrue(result: boolean | Promise<boolean>): boolean {
  if (typeof result === 'object') {
    result.catch(() => undefined);
  }
  return result === true;
}
