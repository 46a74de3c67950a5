import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { classOf, documentedProperties } from '../openapi/documented-properties.js';
import { nameOf, type Route } from '../routes/route.js';
import { handlerInputs } from './handler-inputs.js';

/** What is wrong with the inputs that a route declares: one without rules would let anything through. */
export function inputFaults(route: Route): string[] {
  const { body, query, params } = handlerInputs(route);
  return [body, query, params].flatMap((type) => (type ? faultsOf(type, nameOf(route)) : []));
}

/** Kinds of metadata that are no rules: they say when others hold, or that a name is known. */
const NO_RULES: ReadonlySet<string | undefined> = new Set(['conditionalValidation', 'whitelistValidation']);

/** @param above - classes that contain this one: a class that contains itself has no end */
function faultsOf(type: Type<object>, route: string, above: readonly Type[] = []): string[] {
  const rules = getMetadataStorage()
    .getTargetValidationMetadatas(type, '', false, false)
    .filter((rule) => !NO_RULES.has(rule.type));
  if (rules.length === 0) {
    const remedy = 'declare it whole, as a class with decorated properties, and import that class without "type".';
    return [`${route} takes an input without validation rules: ${remedy}`];
  }
  const documented = documentedProperties(type);
  const ruled = new Set(rules.map(({ propertyName }) => propertyName));
  const hidden = [...ruled].filter((name) => !Object.hasOwn(documented, name));
  const unruled = Object.keys(documented).filter((name) => !ruled.has(name));
  const remedy = 'use a rule that documents itself, such as @Text, or both @ApiProperty and a rule.';
  return [
    ...hidden.map((name) => `${type.name}.${name} is taken and not documented: ${remedy}`),
    ...unruled.map((name) => `${type.name}.${name} is documented and has no rule: ${remedy}`),
    ...Object.entries(documented).flatMap(([name, property]) => {
      const inner = classOf(property);
      if (!inner || above.includes(inner)) {
        return [];
      }
      const isChecked = rules.some((rule) => rule.propertyName === name && rule.type === 'nestedValidation');
      return isChecked
        ? faultsOf(inner, `${type.name}.${name}`, [...above, type, inner])
        : [`${type.name}.${name} takes ${inner.name} without checking it: add @ValidateNested() and @Type(() => ${inner.name}).`];
    }),
  ];
}
