import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { creationTime, creationTimeText } from '../database/id.js';
import { documentedProperties, markWhitelisted } from '../openapi/documented-properties.js';

/** What clients see of a row whose properties they gave: what it has none of is left out. */
export type Answer<Body> = { readonly id: string; readonly createdAt: string } & {
  readonly [Name in keyof Body]: Shown<Exclude<Body[Name], null>>;
};

type Shown<Value> = Value extends Date ? string : Value;

/** A row with the properties of a body; what the body may leave out is null or undefined where it was. */
export type RowOf<Body> = { readonly id: string } & {
  readonly [Name in keyof Body]: Body[Name] | (object extends Pick<Body, Name> ? null | undefined : never);
};

/** A class that documents an answer, and makes it of a row. */
export interface AnswerType<Body> extends Type<Answer<Body>> {
  /** What clients see of a row: `id`, `createdAt` and the properties of the body; other columns are left out. */
  from(this: void, row: RowOf<Body>): Answer<Body>;
}

const EXAMPLE_ID = '0190163d-8694-739b-aea5-966c26f8ad91';
const EXAMPLE_TIME = creationTime(EXAMPLE_ID).toISOString();

/** Rules of requests: what was stored once may have been taken by others. */
const RULES: ReadonlySet<string> = new Set(['minimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'nullable']);

/**
 * A class for answers that show what was created, and the items of lists: `class WidgetDto extends AnswerOf(CreateWidgetDto) {}`.
 * `WidgetDto.from(row)` shows nothing but what is documented. Where answers show something else, write a class of your own.
 *
 * @param body - the class of the request body
 */
export function AnswerOf<Body extends object>(body: Type<Body>): AnswerType<Body> {
  const properties = documentedProperties(body);
  const names = Object.keys(properties) as (keyof Body)[];

  class DocumentedAnswer {
    @ApiProperty({ type: String, description: 'Identifier, assigned by the service. Opaque.', example: EXAMPLE_ID })
    declare readonly id: string;

    static from(this: void, row: RowOf<Body>): Answer<Body> {
      const answer: Record<PropertyKey, unknown> = { id: row.id };
      for (const name of names) {
        const value: unknown = row[name];
        if (value !== null && value !== undefined) {
          answer[name] = value instanceof Date ? value.toISOString() : value;
        }
      }
      answer['createdAt'] = creationTimeText(row.id);
      return answer as Answer<Body>;
    }
  }

  const createdAt = { type: String, format: 'date-time', description: 'When it was created, UTC.', example: EXAMPLE_TIME };
  for (const [name, documentation] of Object.entries<ApiPropertyOptions>({ ...properties, createdAt })) {
    ApiProperty(answered(documentation))(DocumentedAnswer.prototype, name);
  }
  markWhitelisted(DocumentedAnswer);
  return DocumentedAnswer as unknown as AnswerType<Body>;
}

function answered(documentation: ApiPropertyOptions): ApiPropertyOptions {
  const kept = Object.entries(documentation).filter(([name]) => !RULES.has(name));
  const { description = '', required = true } = documentation;
  return {
    ...Object.fromEntries(kept),
    description: required ? description : `${description} Absent when it has none.`,
  };
}
