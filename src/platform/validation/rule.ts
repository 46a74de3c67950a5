import { getMetadataStorage, ValidateBy, type ValidationArguments } from 'class-validator';

/**
 * A class-validator constraint whose name is the `code` that clients see in a problem's `errors`.
 *
 * @param code - machine-readable, `snake_case`, stable within `/v1`
 * @param detail - what the value must be, to be read after the field's name ("must be text")
 * @param test - whether the value keeps it; `siblings` is the whole input
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

/** The rules of class-validator for the properties of a class, including inherited ones, without groups. */
export function rulesOf(type: object) {
  return getMetadataStorage().getTargetValidationMetadatas(type as () => unknown, '', false, false);
}
