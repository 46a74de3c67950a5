import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, DECORATORS } from '@nestjs/swagger';
import { ValidationTypes } from 'class-validator';
import { OperatorError } from '../errors/operator-error.js';
import { type ClassRule, isObject } from '../validation/rule.js';
import { impliedOptions } from './implied-options.js';

/** The `@ApiProperty` options of a class by property, including inherited ones. */
export function documentedProperties({ prototype }: Type<object>): Record<string, ApiPropertyOptions> {
  const target = prototype as object;
  const keys = (Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, target) ?? []) as string[];
  // Each key is a name after a colon.
  const names = keys.map((key) => key.slice(1));
  const optionsOf = (name: string): unknown => Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES, target, name);
  return Object.fromEntries(names.map((name) => [name, optionsOf(name) as ApiPropertyOptions]));
}

/**
 * Adds a class, the classes of its properties, and its further models.
 *
 * @param type - as in `@ApiProperty`: `Pet`, `[Pet]` or `() => Pet`
 */
function collectClasses(type: unknown, found: Set<Type<object>>): void {
  const [part] = [type].flat() as (Type<object> | string | undefined)[];
  if (typeof part === 'function' && (part.prototype as unknown) === undefined) {
    collectClasses((part as unknown as () => unknown)(), found);
  } else if (typeof part === 'function' && !found.has(part)) {
    found.add(part);
    Object.values(documentedProperties(part)).forEach((property) => collectClasses(property.type, found));
    const more = (Reflect.getMetadata(DECORATORS.API_EXTRA_MODELS, part) ?? []) as unknown[];
    more.forEach((model) => collectClasses(model, found));
  }
}

export function schemaNameOf(type: Type<object>): string {
  return (Reflect.getOwnMetadata(DECORATORS.API_SCHEMA, type) as { name?: string }[] | undefined)?.at(-1)?.name ?? type.name;
}

/** What identifies a class: its Standard Schema, if a library makes a new class of it at each use, otherwise the class. */
function definitionOf(type: Type<object> & { readonly schema?: unknown }): unknown {
  return isObject(type.schema) ? type.schema : type;
}

/** @returns all names. @throws OperatorError if different classes or enums have the same name in the OpenAPI document */
export function checkClassNames(types: readonly unknown[]): ReadonlySet<string> {
  const classes = new Set<Type<object>>();
  types.forEach((type) => collectClasses(type, classes));
  const properties = [...classes].flatMap((type) => Object.values(documentedProperties(type)));
  const enums = properties.flatMap((property) => {
    const { enumName, enum: values, items } = property as { enumName?: string; enum?: unknown; items?: { enum?: unknown } };
    return enumName === undefined ? [] : { name: enumName, definition: JSON.stringify(values ?? items?.enum) };
  });
  const named = [...[...classes].map((type) => ({ name: schemaNameOf(type), definition: definitionOf(type) })), ...enums];
  const faults: string[] = [];
  for (const [name, alike] of Map.groupBy(named, (each) => each.name)) {
    const definitions = [...new Set<unknown>(alike.map(({ definition }) => definition))];
    if (definitions.length > 1) {
      const [kinds, remedy] = definitions.some((definition) => typeof definition === 'string')
        ? ['enums or classes', 'give an enum another `enumName`']
        : ['classes', 'name its schema with @ApiSchema({ name }) of @nestjs/swagger'];
      faults.push(`Several ${kinds} with the name ${name} are in the document: rename one, or ${remedy}.`);
    }
  }
  if (faults.length > 0) throw new OperatorError(faults.join('\n'));
  return new Set(named.map(({ name }) => name));
}

/** @throws OperatorError if a class has the name of a schema of the platform */
export function checkOwnNames(own: readonly string[], schemas: object): void {
  const taken = own.find((name) => Object.hasOwn(schemas, name));
  if (taken !== undefined) {
    throw new OperatorError(
      `The platform's schema ${taken} has the name of a class: rename the class, or its schema with @ApiSchema({ name }).`,
    );
  }
}

/** Whether the plugin of the Nest CLI documents the properties of a class, all except those with `@ApiHideProperty()`. */
function isCompiled(type: unknown): boolean {
  const factory = Object.getOwnPropertyDescriptor(type, '_OPENAPI_METADATA_FACTORY');
  // Without the plugin, `PartialType()` and the like assign a factory that returns no properties.
  return factory !== undefined && (!factory.enumerable || Object.keys((factory.value as () => object)()).length > 0);
}

/** The `@ApiProperty` options that rules imply, for properties that neither that decorator nor the plugin documents. */
export function impliedProperties(type: Type<object>, all: readonly ClassRule[]): Record<string, ApiPropertyOptions> {
  const documented = documentedProperties(type);
  const options: Record<string, ApiPropertyOptions> = {};
  for (const [name, rules] of Map.groupBy(all, ({ propertyName }) => propertyName)) {
    if (!Object.hasOwn(documented, name) && !rules.some(({ target }) => isCompiled(target))) {
      const required = rules.every((rule) => rule.type !== ValidationTypes.CONDITIONAL_VALIDATION);
      options[name] = { ...impliedOptions(type, name, rules), required } as ApiPropertyOptions;
    }
  }
  return options;
}

/** The fields that a class initializes, which requests may omit; none if its constructor needs arguments. */
function initializedFields(type: Type<object>): ReadonlySet<string> {
  try {
    // No getters, which may need fields that only a request has.
    return new Set(Object.entries(new type()).flatMap(([name, value]) => (value === undefined ? [] : name)));
  } catch {
    return new Set();
  }
}

/** Documents the properties of inputs that have rules. */
export function documentRules(classes: ReadonlyMap<Type<object>, readonly ClassRule[]>): void {
  // Read from all classes before any is changed, because a subclass inherits what is added to its superclass.
  const found = [...classes].map(([type, rules]) => ({ type, implied: impliedProperties(type, rules) }));
  for (const { type, implied } of found) {
    const initialized = initializedFields(type);
    for (const [name, options] of Object.entries(implied)) {
      const required = options.required === true && !initialized.has(name);
      ApiProperty({ ...options, required } as ApiPropertyOptions)(type.prototype as object, name);
    }
  }
}
