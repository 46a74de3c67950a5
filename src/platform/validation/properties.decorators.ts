import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';
import { isUuid } from '../database/id.js';
import { MILLISECOND, parseTimestamp } from '../time/timestamp.js';
import { codePoints } from './code-points.js';
import { Rule } from './rule.js';

/** What is said of every property of a body. */
export interface PropertyOptions<Example> {
  /** For the documentation; Markdown. */
  description: string;
  /** For the documentation and its forms: a value that is accepted. */
  example: Example;
  /** May be left out; `null` counts as left out. */
  optional?: boolean;
}

/** What values of a type are, and further rules that they keep. */
interface PropertyType<Value> {
  /** JSON Schema of the type. */
  schema: ApiPropertyOptions;
  /** What a value must be, to be read after the property's name. */
  detail: string;
  isOne: (value: unknown) => boolean;
  /** Each with its code, what the value must be, and whether it is. */
  rules?: readonly (readonly [code: string, detail: string, test: (value: Value) => boolean])[];
}

/** Validates and documents a property at once. A value that is missing or of another type has that error alone. */
function Property<Value>(
  { description, example, optional = false }: PropertyOptions<unknown>,
  { schema, detail, isOne, rules = [] }: PropertyType<Value>,
): PropertyDecorator {
  const documentation = { ...schema, description, example, required: !optional, ...(optional && { nullable: true }) };
  return applyDecorators(
    ApiProperty(documentation as ApiPropertyOptions),
    optional ? IsOptional() : Rule('required', 'is required', (value) => value !== undefined),
    Rule('type', detail, (value) => value === undefined || isOne(value)),
    ...rules.map(([code, text, test]) => Rule(code, text, (value) => !isOne(value) || test(value as Value))),
  );
}

/** How long a text may be. Lengths count Unicode code points, as JSON Schema does. */
export interface TextOptions extends PropertyOptions<string> {
  /** In code points. */
  maximumLength: number;
  /** At least one character that is not white space. */
  notBlank?: boolean;
}

/**
 * A text that PostgreSQL stores byte for byte: neither trimmed nor normalised, without U+0000 and lone surrogates.
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
      ...(notBlank
        ? [['blank', 'must have a character that is not white space', (text: string) => /\S/.test(text)] as const]
        : []),
    ],
  });
}

/** Which whole numbers are taken. */
export interface IntegerOptions extends PropertyOptions<number> {
  /** Smallest value allowed. */
  minimum: number;
  /** Largest value allowed: a column `integer` takes 2,147,483,647, and JSON 9,007,199,254,740,991. */
  maximum: number;
}

/**
 * A JSON number without a fraction.
 *
 * @throws Error when a bound is beyond what JSON carries exactly
 */
export function Integer({ minimum, maximum, ...options }: IntegerOptions): PropertyDecorator {
  if (!Number.isSafeInteger(minimum) || !Number.isSafeInteger(maximum)) {
    throw new Error(`An integer from ${minimum} to ${maximum} cannot be told apart from its neighbours: choose closer bounds.`);
  }
  return Property<number>(options, {
    schema: { type: 'integer', minimum, maximum },
    detail: 'must be a whole number',
    isOne: (value) => Number.isInteger(value),
    rules: [['range', `must be from ${minimum} to ${maximum}`, (value) => value >= minimum && value <= maximum]],
  });
}

/** `true` or `false`. */
export function Bool(options: PropertyOptions<boolean>): PropertyDecorator {
  return Property<boolean>(options, {
    schema: { type: Boolean },
    detail: 'must be true or false',
    isOne: (value) => typeof value === 'boolean',
  });
}

/** Which words are taken. */
export interface OneOfOptions<Word extends string> extends PropertyOptions<Word> {
  values: readonly Word[];
}

/** One word out of a list, capitals included. */
export function OneOf<const Word extends string>({ values, ...options }: OneOfOptions<Word>): PropertyDecorator {
  return Property<Word>(options, {
    schema: { type: String, enum: [...values] },
    detail: `must be one of ${values.map((value) => JSON.stringify(value)).join(', ')}`,
    isOne: (value) => values.some((word) => word === value),
  });
}

/**
 * A UUID (RFC 9562), as text. Capitals make no difference: the property gets small letters, as PostgreSQL gives them back.
 * Also of a path: `@Param() { id }: WidgetPath`.
 */
export function Uuid(options: PropertyOptions<string>): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.toLowerCase() : value)),
    Property<string>(options, {
      schema: { type: String, format: 'uuid' },
      detail: 'must be a UUID, like 0190163d-8694-739b-aea5-966c26f8ad91',
      isOne: (value) => typeof value === 'string' && isUuid(value),
    }),
  );
}

/** In capitals, without leap seconds, and with what fits into a `Date`: RFC 3339, and with it the format, has more. */
const PATTERN = '^\\d{4}-\\d\\d-\\d\\dT([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,3}0{0,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)$';

/**
 * A moment, as RFC 3339 writes it with a zone and at most milliseconds; the property becomes a `Date`.
 */
export function Timestamp(options: PropertyOptions<string>): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) => parseMillisecond(value)),
    Property<Date>(options, {
      schema: { type: String, format: 'date-time', pattern: PATTERN },
      detail: 'must be a time with a zone and at most milliseconds, like 2026-01-31T12:00:00.000Z',
      isOne: (value) => value instanceof Date,
    }),
  );
}

function parseMillisecond(value: unknown): unknown {
  const nanoseconds = typeof value === 'string' ? parseTimestamp(value) : undefined;
  return nanoseconds !== undefined && nanoseconds % MILLISECOND === 0n ? new Date(Number(nanoseconds / MILLISECOND)) : value;
}
