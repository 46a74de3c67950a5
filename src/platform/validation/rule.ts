import { createRequire } from 'node:module';
import { applyDecorators, type Type } from '@nestjs/common';
import { plainToInstance, Transform, type TypeMetadata } from 'class-transformer';
import { getMetadataStorage, ValidateBy, type ValidationArguments, ValidationTypes } from 'class-validator';
import type { ValueFault } from '../problems/problem.js';

/**
 * A class-validator constraint whose name is the `code` in a problem's `errors`.
 *
 * @param code - `snake_case`, stable within `/v1`
 * @param detail - follows the property's name ("must be text")
 * @param test - whether the value is valid; `siblings` is the whole input
 */
export function Rule(code: string, detail: string, test: (value: unknown, siblings: object) => boolean): PropertyDecorator {
  return ValidateBy({
    name: code,
    validator: {
      validate: (value: unknown, context?: ValidationArguments) => test(value, context?.object ?? {}),
      defaultMessage: () => detail,
    },
  });
}

/** Replaces an input value that could not be parsed, and has the fault to report. */
export class RefusedValue {
  constructor(readonly fault: ValueFault) {}
}

/** Parses a text property. @param parse - returns a `RefusedValue` for an invalid text */
export function Parsed(parse: (text: string) => unknown): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' ? parse(value) : new RefusedValue({ code: 'type', detail: 'must be a string' }),
    ),
    Rule('type', 'could not be parsed', (value) => !(value instanceof RefusedValue)),
  );
}

/** Converts texts; other values are left for a rule to reject. @param convert - receives the whole raw input as `input` */
export function Converted(convert: (text: string, input: object) => unknown): PropertyDecorator {
  return Transform(({ value, obj }: { value: unknown; obj: object }) =>
    typeof value === 'string' ? convert(value, obj) : value,
  );
}

/** An integer in canonical decimal text, as in queries and variables: `10`, not `010`, `0x0a`, `1e1`, ` 10` or `10.0`. */
export function DecimalInteger(minimum: number, maximum: number): PropertyDecorator {
  return applyDecorators(
    Converted((text) => (/^(?:0|[1-9][0-9]{0,14})$/.test(text) ? Number(text) : text)),
    Rule(
      'range',
      `must be an integer from ${minimum} to ${maximum}, in decimal digits`,
      (value) => typeof value === 'number' && value >= minimum && value <= maximum,
    ),
  );
}

/** The class-validator rules of a class, including inherited ones, of all groups. */
export function rulesOf(type: object) {
  return getMetadataStorage().getTargetValidationMetadatas(type as () => unknown, '', false, false);
}

export type ClassRule = ReturnType<typeof rulesOf>[number];

/** Whether a rule is that of `@ValidateNested()`. */
export function isNested({ type }: ClassRule): boolean {
  return type === ValidationTypes.NESTED_VALIDATION;
}

/** The constraints of a rule. Errors have their `name`, because a rule of `@Validate()` has no name of its own. */
export function constraintsOf({ constraintCls }: ClassRule) {
  return getMetadataStorage().getTargetValidatorConstraints(constraintCls);
}

/** Classes whose properties with `@ValidateNested()` have the rule of {@link requireObjects}. */
const completed = new WeakSet<new () => object>();

/** Collects rules by class, also of classes nested by `@ValidateNested()`, and adds {@link requireObjects} beside that. */
export function collectRules(type: new () => object, found = new Map<new () => object, ClassRule[]>()) {
  if (!found.has(type)) {
    const rules = rulesOf(type);
    found.set(type, rules);
    for (const { propertyName, each } of rules.filter(isNested)) {
      if (!completed.has(type)) {
        requireObjects(type, propertyName, each);
      }
      const nested = [...nestedClasses(type, propertyName), ...chosenClasses(type, propertyName)];
      nested.forEach((part) => collectRules(part, found));
    }
    completed.add(type);
  }
  return found;
}

/** Adds a rule against what `@ValidateNested()` accepts: no value, an array for an object, or an object for an array. */
function requireObjects({ prototype }: new () => object, property: string, each: boolean): void {
  const declared: unknown = Reflect.getMetadata('design:type', prototype as object, property);
  const isList = declared === Array || (each && declared !== Map && declared !== Set);
  const validate = (part: unknown, context?: ValidationArguments) =>
    isObject(part) && (!isList || Array.isArray(context?.value));
  const defaultMessage = (context?: ValidationArguments) =>
    isList && !Array.isArray(context?.value) ? 'must be an array' : 'must be an object';
  ValidateBy({ name: 'type', validator: { validate, defaultMessage } }, { each: isList || each })(
    prototype as object,
    property,
  );
}

interface TypeStorage {
  findTypeMetadata(type: Type<object>, property: string): TypeMetadata | undefined;
}

/** Where class-transformer keeps `@Type()`: it has no public way to the classes from which an input chooses. */
const { defaultMetadataStorage } = createRequire(import.meta.url)('class-transformer/cjs/storage.js') as {
  defaultMetadataStorage: TypeStorage;
};

/** A property of inputs by which `@Type()` chooses their classes. */
export interface Discriminator {
  readonly property: string;
  readonly subTypes: readonly { readonly name: string; readonly value: new () => object }[];
}

/** The `discriminator` of the `@Type()` of a property, if it has one. */
export function discriminatorOf(type: Type<object>, property: string): Discriminator | undefined {
  return defaultMetadataStorage.findTypeMetadata(type, property)?.options.discriminator;
}

/** The classes that the `discriminator` of a property can choose. */
export function chosenClasses(type: Type<object>, property: string): (new () => object)[] {
  return discriminatorOf(type, property)?.subTypes.map(({ value }) => value) ?? [];
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The classes that `@Type()` names. Only class-transformer knows them, so it is given an empty object to convert. */
export function nestedClasses(type: new () => object, property: string): (new () => object)[] {
  try {
    const { [property]: nested } = plainToInstance(type, { [property]: [{}] }) as Record<string, unknown>;
    return [nested].flat().map((value) => (Object(value) as object).constructor as new () => object);
  } catch {
    // A transformation of the feature may not accept an empty object.
    return [];
  }
}

/** Whether an input is certainly valid; if not, class-validator decides. */
type QuickCheck = (input: object) => boolean;

const KINDS: ReadonlySet<string> = new Set(['customValidation', 'conditionalValidation', 'whitelistValidation']);

const checks = new WeakMap<Type<object>, QuickCheck | undefined>();

/** Compiles a class's rules, which class-validator would collect for each input; undefined if only it supports some. */
export function quickCheckOf(type: Type<object>): QuickCheck | undefined {
  return checks.getOrInsertComputed(type, () => {
    const rules = rulesOf(type);
    return rules.every(isKnown) ? compile(rules) : undefined;
  });
}

function isKnown(rule: ClassRule): boolean {
  // `groups` is undefined for some kinds of rules, despite its type.
  const groups = rule.groups as readonly string[] | undefined;
  return (
    !rule.each && !groups?.length && KINDS.has(rule.type) && constraintsOf(rule).every(({ async: isAsync }) => !isAsync)
  );
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

/** Whether a result is `true`. Otherwise, class-validator validates again: it awaits promises and accepts truthy results. */
function isTrue(result: unknown): boolean {
  if (result instanceof Promise) {
    result.catch(() => undefined);
  }
  return result === true;
}
