import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { creationTime, creationTimeText } from '../ids/id.js';
import { documentedProperties, impliedProperties } from '../openapi/documented-properties.js';
import { etagOf, type Versioned } from '../preconditions/entity-tags.js';
import { Etag } from '../preconditions/etag.interceptor.js';
import { rulesOf } from '../validation/rule.js';

/** A response body: the properties of a request body without those that are null, and `id` and `createdAt`. */
type ResponseBody<Body> = { readonly id: string; readonly createdAt: string } & {
  readonly [Name in keyof Body]: Serialized<Exclude<Body[Name], null>>;
};

type Serialized<Value> = Value extends Date ? string : Value;

/** A row with the properties of a request body. Optional properties may be null or undefined. */
type RowOf<Body> = { readonly id: string } & {
  readonly [Name in keyof Body]: Body[Name] | (object extends Pick<Body, Name> ? null | undefined : never);
};

/** The class that {@link ResponseOf} makes. `Tag` has its further properties, and `Source` the columns for these. */
interface ResponseClass<Body, Tag = unknown, Source = unknown> extends Type<ResponseBody<Body> & Tag> {
  /** Maps a row to a response. Columns that the request body does not have are left out. */
  from(this: void, row: RowOf<Body> & Source): ResponseBody<Body> & Tag;
}

const EXAMPLE_ID = '0190163d-8694-739b-aea5-966c26f8ad91';
const EXAMPLE_TIME = creationTime(EXAMPLE_ID).toISOString();

/** Rules that apply to requests only: stored values may be older than the rules. */
const RULES: ReadonlySet<string> = new Set(
  'minimum maximum minLength maxLength minItems maxItems pattern nullable'.split(' '),
);

/**
 * Makes the class of a response from the class of a request body: `class WidgetDto extends ResponseOf(CreateWidgetDto)`,
 * which then declares the properties for its readers. `WidgetDto.from(row)` maps a row to it. Every property of the body is
 * sent: pass `OmitType(CreateUserDto, ['password'])` for one that must not be. Write your own class for other responses.
 */
export function ResponseOf<Body extends object>(body: Type<Body>): ResponseClass<Body> {
  const properties = { ...documentedProperties(body), ...impliedProperties(body, rulesOf(body)) };
  const names = Object.keys(properties) as (keyof Body)[];

  class DocumentedResponse {
    @ApiProperty({ type: String, description: 'Identifier, assigned by the service. Opaque.', example: EXAMPLE_ID })
    declare readonly id: string;

    static from(this: void, row: RowOf<Body>): ResponseBody<Body> {
      const response: Record<PropertyKey, unknown> = { id: row.id };
      for (const name of names) {
        const value: unknown = row[name];
        if (value !== null && value !== undefined) {
          response[name] = value instanceof Date ? value.toISOString() : value;
        }
      }
      response['createdAt'] = creationTimeText(row.id);
      return response as ResponseBody<Body>;
    }
  }

  const createdAt = { type: String, format: 'date-time', description: 'Time of creation, UTC.', example: EXAMPLE_TIME };
  for (const [name, documentation] of Object.entries<ApiPropertyOptions>({ ...properties, createdAt })) {
    ApiProperty(forResponse(documentation))(DocumentedResponse.prototype, name);
  }
  return DocumentedResponse as unknown as ResponseClass<Body>;
}

type Tagged = { readonly etag: string };

/**
 * Like `ResponseOf`, with `etag`, for an entity with `@VersionColumn() declare version: number`. Responses that have this
 * class send `ETag`, and a `GET` honors `If-None-Match`.
 */
export function VersionedResponseOf<Body extends object>(body: Type<Body>): ResponseClass<Body, Tagged, Versioned> {
  const Unversioned = ResponseOf(body);

  class VersionedResponse extends (Unversioned as Type<object>) {
    @Etag() declare readonly etag: string;

    static from(this: void, row: RowOf<Body> & Versioned): ResponseBody<Body> & Tagged {
      return { ...Unversioned.from(row), etag: etagOf(row) };
    }
  }
  return VersionedResponse as unknown as ResponseClass<Body, Tagged, Versioned>;
}

function forResponse(documentation: ApiPropertyOptions): ApiPropertyOptions {
  const kept = Object.entries(documentation).filter(([name]) => !RULES.has(name));
  const { description = '', required = true } = documentation;
  const note = required ? '' : ' Absent if it has no value.';
  return { ...Object.fromEntries(kept), description: `${description}${note}`.trim() };
}
