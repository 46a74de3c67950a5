import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, ValidateBy, type ValidationArguments, ValidationTypes } from 'class-validator';

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

/** The class-validator rules of a class, including inherited ones, without groups. */
export function rulesOf(type: object) {
  return getMetadataStorage().getTargetValidationMetadatas(type as () => unknown, '', false, false);
}

/** Adds the rules of a class and of the classes that it nests with `@ValidateNested()`, by class. */
export function collectRules(type: new () => object, found = new Map<unknown, ReturnType<typeof rulesOf>>()) {
  if (!found.has(type)) {
    const rules = rulesOf(type);
    found.set(type, rules);
    for (const { propertyName } of rules.filter((rule) => rule.type === ValidationTypes.NESTED_VALIDATION)) {
      nestedClasses(type, propertyName).forEach((nested) => collectRules(nested, found));
    }
  }
  return found;
}

/** Only class-transformer knows the class that `@Type()` names, so it converts an empty object. */
function nestedClasses(type: new () => object, property: string): (new () => object)[] {
  try {
    const { [property]: nested } = plainToInstance(type, { [property]: [{}] }) as Record<string, unknown>;
    return [nested].flat().map((value) => (Object(value) as object).constructor as new () => object);
  } catch {
    // A transformation of the feature may not accept an empty object.
    return [];
  }
}
