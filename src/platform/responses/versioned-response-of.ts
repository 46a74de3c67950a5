import type { Type } from '@nestjs/common';
import { markWhitelisted } from '../openapi/documented-properties.js';
import { Etag } from '../preconditions/etag.interceptor.js';
import { etagOf, type Versioned } from '../preconditions/entity-tags.js';
import { ResponseOf, type ResponseBody, type RowOf } from './response-of.js';

type VersionedBody<Body> = ResponseBody<Body> & { readonly etag: string };

interface VersionedResponseClass<Body> extends Type<VersionedBody<Body>> {
  /** Maps a row to a response, as that of `ResponseOf` does. */
  from(this: void, row: RowOf<Body> & Versioned): VersionedBody<Body>;
}

/**
 * As `ResponseOf`, with `etag`, for an entity with `@VersionColumn() declare version: number`. Responses that have this
 * class send `ETag`, and a `GET` honors `If-None-Match`.
 */
export function VersionedResponseOf<Body extends object>(body: Type<Body>): VersionedResponseClass<Body> {
  const Unversioned = ResponseOf(body);

  class VersionedResponse extends (Unversioned as Type<object>) {
    @Etag() declare readonly etag: string;

    static from(this: void, row: RowOf<Body> & Versioned): VersionedBody<Body> {
      return { ...Unversioned.from(row), etag: etagOf(row) };
    }
  }
  markWhitelisted(VersionedResponse);
  return VersionedResponse as unknown as VersionedResponseClass<Body>;
}
