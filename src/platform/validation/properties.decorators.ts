import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { isUuid } from '../ids/id.js';
import type { FaultCode } from '../problems/problem.js';
import { Converted, Rule } from './rule.js';

export interface PropertyOptions<Example> {
  /** Markdown, for the documentation. */
  description: string;
  /** A valid value, for the documentation and its forms. */
  example: Example;
  /** May be absent or `null`. */
  optional?: boolean;
}

type ValueRule<Value> = readonly [code: FaultCode, detail: string, test: (value: Value) => boolean];

/** Validates and documents a property. A missing value gets only the error `required`, one of another type only `type`. */
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

/** Limits code points. Counts them only if the length in UTF-16 units does not decide: each has one or two. */
const isAtMost = (maximum: number) => (text: string) =>
  text.length <= maximum || (text.length <= 2 * maximum && Array.from(text).length <= maximum);

const NOT_BLANK: ValueRule<string> = ['blank', 'must contain a character other than white space', (text) => /\S/.test(text)];

/**
 * A text that is stored byte for byte, without trimming or normalization. U+0000 and lone surrogates are rejected.
 *
 * @param options - `maximumLength` in Unicode code points, as in JSON Schema; `notBlank` rejects texts of white space only
 */
export function Text(options: PropertyOptions<string> & { maximumLength: number; notBlank?: boolean }): PropertyDecorator {
  const { maximumLength, notBlank = false } = options;
  const pattern = notBlank ? '^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$' : '^[^\\u0000]*$';
  const schema = { type: String, maxLength: maximumLength, ...(notBlank && { minLength: 1 }), pattern };
  return Property<string>(options, schema, 'must be a string', (value) => typeof value === 'string', [
    ['too_long', `must have at most ${maximumLength} characters`, isAtMost(maximumLength)],
    ...(notBlank ? [NOT_BLANK] : []),
  ]);
}

/** A JSON integer. @param options - `maximum`: up to 2,147,483,647 for `integer` columns, 9,007,199,254,740,991 for JSON */
export function Integer(options: PropertyOptions<number> & { minimum: number; maximum: number }): PropertyDecorator {
  const { minimum, maximum } = options;
  return Property<number>(options, { type: 'integer', minimum, maximum }, 'must be a whole number', Number.isInteger, [
    ['range', `must be from ${minimum} to ${maximum}`, (value) => value >= minimum && value <= maximum],
  ]);
}

/** One of the given values, case-sensitive. */
export function OneOf<const Word extends string>(
  options: PropertyOptions<Word> & { values: readonly Word[] },
): PropertyDecorator {
  const words: readonly unknown[] = options.values;
  const detail = `must be one of ${words.map((value) => JSON.stringify(value)).join(', ')}`;
  return Property(options, { type: String, enum: [...options.values] }, detail, (value) => words.includes(value));
}

/** A UUID (RFC 9562), case-insensitive and converted to lower case. Works for paths, too: `@Param() { id }: WidgetPath`. */
export function Uuid(options: PropertyOptions<string>): PropertyDecorator {
  const detail = 'must be a UUID, like 0190163d-8694-739b-aea5-966c26f8ad91';
  return applyDecorators(
    Converted((text) => text.toLowerCase()),
    Property(options, { type: String, format: 'uuid' }, detail, (value) => typeof value === 'string' && isUuid(value)),
  );
}
