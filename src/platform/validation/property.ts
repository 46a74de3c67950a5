import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
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
export interface PropertyType<Value> {
  /** JSON Schema of the type. */
  schema: ApiPropertyOptions;
  /** What a value must be, to be read after the property's name. */
  detail: string;
  isOne: (value: unknown) => boolean;
  /** Each with its code, what the value must be, and whether it is. */
  rules?: readonly (readonly [code: string, detail: string, test: (value: Value) => boolean])[];
}

/** Validates and documents a property at once. What is missing or of another type has that fault alone. */
export function Property<Value>(
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
