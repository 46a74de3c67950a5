import { getMetadataStorage, ValidateBy, type ValidationArguments } from 'class-validator';

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
