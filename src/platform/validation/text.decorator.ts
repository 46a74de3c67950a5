import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { codePoints } from './code-points.js';
import { Rule } from './rule.js';

/** How long a text may be and how it is documented. Lengths count Unicode code points, as JSON Schema does. */
export interface TextOptions {
  /** For the documentation; Markdown. */
  description: string;
  /** For the documentation and its forms: a value that is accepted. */
  example: string;
  /** In code points. */
  maximumLength: number;
  /** At least one character that is not white space. */
  notBlank?: boolean;
  /** May be left out; `null` counts as left out. */
  optional?: boolean;
}

/**
 * A text that PostgreSQL stores byte for byte: neither trimmed nor normalised, without U+0000 and lone surrogates.
 * Validates and documents the property at once.
 */
export function Text(options: TextOptions): PropertyDecorator {
  const { description, example, maximumLength, notBlank = false, optional = false } = options;
  const Property = optional ? ApiPropertyOptional : ApiProperty;
  return applyDecorators(
    Property({
      type: String,
      description,
      example,
      maxLength: maximumLength,
      ...(notBlank && { minLength: 1 }),
      ...(optional && { nullable: true }),
      pattern: notBlank ? '^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$' : '^[^\\u0000]*$',
    }),
    ...(optional ? [IsOptional()] : [Rule('required', 'is required', (value) => value !== undefined)]),
    Rule('type', 'must be a string', (value) => value === undefined || typeof value === 'string'),
    text('too_long', `must have at most ${maximumLength} characters`, (value) => codePoints(value) <= maximumLength),
    text('character', 'must not contain U+0000 or a lone surrogate', (value) => !value.includes('\0') && value.isWellFormed()),
    ...(notBlank ? [text('blank', 'must have a character that is not white space', (value) => /\S/.test(value))] : []),
  );
}

/** A rule about strings only: what is no string has its fault named already. */
function text(code: string, detail: string, test: (value: string) => boolean): PropertyDecorator {
  return Rule(code, detail, (value) => typeof value !== 'string' || test(value));
}
