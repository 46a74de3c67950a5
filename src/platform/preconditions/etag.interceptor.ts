import { type CallHandler, type ExecutionContext, HttpStatus, Injectable, type NestInterceptor } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { map, type Observable } from 'rxjs';
import { matches, opaqueTags } from './entity-tags.js';
import { preconditionFailedProblem, preconditionOf } from './precondition.js';

const TAGGED = 'etag';

/**
 * The property `etag` of a response class, from `etagOf(row)`. It is sent as the header `ETag` as well, unless in a list.
 * The other properties must be columns of the row or made of them: its version has to change with them.
 */
export function Etag(): PropertyDecorator {
  return (target, name) => {
    if (name !== 'etag') {
      throw new Error(`${target.constructor.name}.${String(name)} has @Etag(): name the property etag.`);
    }
    const description = 'Changes with the resource: send it in `If-Match` to change nothing that you have not seen. Opaque.';
    ApiProperty({ type: String, description, example: '"1-Ze-_OBVxzGTLGYrB"' })(target, name);
    Reflect.defineMetadata(TAGGED, true, target);
  };
}

/** Whether a response class has an {@link Etag}. An array has none. */
export function hasEtag(response: unknown): boolean {
  return typeof response === 'function' && Reflect.hasMetadata(TAGGED, response.prototype as object);
}

/** Sends the `etag` of a response as `ETag`, and compares it with what a read demands (RFC 9110, section 13.2.2). */
@Injectable()
export class EtagInterceptor implements NestInterceptor<{ etag: string }> {
  intercept(context: ExecutionContext, next: CallHandler<{ etag: string }>): Observable<unknown> {
    const [request, response] = context.getArgs<[Request, Response]>();
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const { ifMatch, ifNoneMatch } = isRead ? preconditionOf(request) : {};
    const send = (body: { etag: string }) => {
      if (ifMatch && !matches(ifMatch, body.etag)) {
        throw preconditionFailedProblem();
      }
      response.setHeader('ETag', body.etag);
      if (ifNoneMatch && matches(opaqueTags(ifNoneMatch), body.etag)) {
        response.status(HttpStatus.NOT_MODIFIED);
        return undefined;
      }
      return body;
    };
    return next.handle().pipe(map(send));
  }
}
