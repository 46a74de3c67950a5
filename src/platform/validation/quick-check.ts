import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { rulesOf } from './rule.js';

/** Whether an input is valid. */
type QuickCheck = (input: object) => boolean;

type ClassRule = ReturnType<typeof rulesOf>[number];

const KINDS: ReadonlySet<string> = new Set(['customValidation', 'conditionalValidation', 'whitelistValidation']);

const checks = new WeakMap<Type<object>, QuickCheck | undefined>();

/** Compiles the rules of a class, which class-validator collects for each input; undefined if only class-validator supports them. */
export function quickCheckOf(type: Type<object>): QuickCheck | undefined {
  if (!checks.has(type)) {
    const rules = rulesOf(type);
    checks.set(type, rules.every(isKnown) ? compile(rules) : undefined);
  }
  return checks.get(type);
}

function isKnown(rule: ClassRule): boolean {
  // Undefined for some kinds, despite its type.
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

/** A promise is not valid here: class-validator then validates again and waits for it. */
function isTrue(result: boolean | Promise<boolean>): boolean {
  if (typeof result === 'object') {
    result.catch(() => undefined);
  }
  return result === true;
}
