import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { isUuid } from '../database/id.js';
import { parseTimestamp } from '../time/timestamp.js';
import { codePoints } from './code-points.js';
import { Converted } from './parsed.decorator.js';
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

type ValueRule<Value> = readonly [code: string, detail: string, test: (value: Value) => boolean];

/**
 * Validates and documents a property. A value that is missing or of another type has that error alone.
 *
 * @param detail - the type in words, to be read after the property's name
 */
function Property<Value>(
  { description, example, optional = false }: PropertyOptions<unknown>,
  schema: ApiPropertyOptions,
  detail: string,
  isOfType: (value: unknown) => boolean,
  rules: readonly ValueRule<Value>[] = [],
): PropertyDecorator {
  const documentation = { ...schema, description, example, required: !optional, ...(optional && { nullable: true }) };
  return applyDecorators(
    ApiProperty(documentation as ApiPropertyOptions),
    optional ? IsOptional() : Rule('required', 'is required', (value) => value !== undefined),
    Rule('type', detail, (value) => value === undefined || isOfType(value)),
    ...rules.map(([code, text, test]) => Rule(code, text, (value) => !isOfType(value) || test(value as Value))),
  );
}

/** How long a text may be. Lengths count Unicode code points, as JSON Schema does. */
export interface TextOptions extends PropertyOptions<string> {
  /** In code points. */
  maximumLength: number;
  /** At least one character that is not white space. */
  notBlank?: boolean;
}

const NOT_BLANK: ValueRule<string> = ['blank', 'must have a character that is not white space', (text) => /\S/.test(text)];

/** A text that PostgreSQL stores byte for byte: neither trimmed nor normalised, without U+0000 and lone surrogates. */
export function Text({ maximumLength, notBlank = false, ...options }: TextOptions): PropertyDecorator {
  const pattern = notBlank ? '^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$' : '^[^\\u0000]*$';
  const schema = { type: String, maxLength: maximumLength, ...(notBlank && { minLength: 1 }), pattern };
  return Property<string>(options, schema, 'must be a string', (value) => typeof value === 'string', [
    ['too_long', `must have at most ${maximumLength} characters`, (text) => codePoints(text) <= maximumLength],
    ...(notBlank ? [NOT_BLANK] : []),
  ]);
}

/** Which whole numbers are taken. */
export interface IntegerOptions extends PropertyOptions<number> {
  minimum: number;
  /** A column `integer` takes 2,147,483,647, and JSON 9,007,199,254,740,991. */
  maximum: number;
}

/** A JSON number without a fraction. */
export function Integer({ minimum, maximum, ...options }: IntegerOptions): PropertyDecorator {
  return Property<number>(options, { type: 'integer', minimum, maximum }, 'must be a whole number', Number.isInteger, [
    ['range', `must be from ${minimum} to ${maximum}`, (value) => value >= minimum && value <= maximum],
  ]);
}

/** `true` or `false`. */
export function Bool(options: PropertyOptions<boolean>): PropertyDecorator {
  return Property(options, { type: Boolean }, 'must be true or false', (value) => typeof value === 'boolean');
}

/** Which words are taken. */
export interface OneOfOptions<Word extends string> extends PropertyOptions<Word> {
  values: readonly Word[];
}

/** One word out of a list, case-sensitive. */
export function OneOf<const Word extends string>({ values, ...options }: OneOfOptions<Word>): PropertyDecorator {
  const words: readonly unknown[] = values;
  const detail = `must be one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
  return Property(options, { type: String, enum: [...values] }, detail, (value) => words.includes(value));
}

/**
 * A UUID (RFC 9562), as text. Capitals make no difference: the property gets small letters, as PostgreSQL returns them.
 * Also of a path: `@Param() { id }: WidgetPath`.
 */
export function Uuid(options: PropertyOptions<string>): PropertyDecorator {
  const detail = 'must be a UUID, like 0190163d-8694-739b-aea5-966c26f8ad91';
  return applyDecorators(
    Converted((text) => text.toLowerCase()),
    Property(options, { type: String, format: 'uuid' }, detail, (value) => typeof value === 'string' && isUuid(value)),
  );
}

/** In capitals, without leap seconds, and with what fits into a `Date`: RFC 3339, and with it the format, has more. */
const PATTERN = '^\\d{4}-\\d\\d-\\d\\dT([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,3}0{0,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)$';

/** A moment, as RFC 3339 writes it with a zone and at most milliseconds; the property becomes a `Date`. */
export function Timestamp(options: PropertyOptions<string>): PropertyDecorator {
  const detail = 'must be a time with a zone and at most milliseconds, like 2026-01-31T12:00:00.000Z';
  const schema = { type: String, format: 'date-time', pattern: PATTERN };
  return applyDecorators(
    Converted(toDate),
    Property(options, schema, detail, (value) => value instanceof Date),
  );
}

function toDate(text: string): unknown {
  const time = parseTimestamp(text);
  return time && time.epochNanoseconds % 1_000_000n === 0n ? new Date(time.epochMilliseconds) : text;
}
