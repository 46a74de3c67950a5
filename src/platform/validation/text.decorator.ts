import { codePoints } from './code-points.js';
import { Property, type PropertyOptions } from './property.js';

/** How long a text may be. Lengths count Unicode code points, as JSON Schema does. */
export interface TextOptions extends PropertyOptions<string> {
  /** In code points. */
  maximumLength: number;
  /** At least one character that is not white space. */
  notBlank?: boolean;
}

/**
 * A text that PostgreSQL stores byte for byte: neither trimmed nor normalised, without U+0000 and lone surrogates.
 * Validates and documents the property at once.
 */
export function Text({ maximumLength, notBlank = false, ...options }: TextOptions): PropertyDecorator {
  return Property<string>(options, {
    schema: {
      type: String,
      maxLength: maximumLength,
      ...(notBlank && { minLength: 1 }),
      pattern: notBlank ? '^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$' : '^[^\\u0000]*$',
    },
    detail: 'must be a string',
    isOne: (value) => typeof value === 'string',
    rules: [
      ['too_long', `must have at most ${maximumLength} characters`, (text) => codePoints(text) <= maximumLength],
      ['character', 'must not contain U+0000 or a lone surrogate', (text) => !text.includes('\0') && text.isWellFormed()],
      ...(notBlank
        ? [['blank', 'must have a character that is not white space', (text: string) => /\S/.test(text)] as const]
        : []),
    ],
  });
}
