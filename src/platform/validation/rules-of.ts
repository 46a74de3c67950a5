import { getMetadataStorage } from 'class-validator';

/** What class-validator knows of the properties of a class, those that it inherits among them, without groups. */
export function rulesOf(type: object) {
  return getMetadataStorage().getTargetValidationMetadatas(type as () => unknown, '', false, false);
}
