import * as fc from 'fast-check';

/** One of these characters. */
export function oneOf(characters: string): fc.Arbitrary<string> {
  return fc.constantFrom(...Array.from(characters));
}

/** Texts of these characters. */
export function textsFrom(characters: string, lengths: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: oneOf(characters), ...lengths });
}
