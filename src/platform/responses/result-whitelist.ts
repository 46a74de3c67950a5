import type { NestInterceptor } from '@nestjs/common';
import { isObservable, map } from 'rxjs';
import { IdempotencyInterceptor } from '../idempotency/idempotent.decorator.js';
import type { OpenApiDocument } from '../openapi/openapi-document.js';
import { EtagInterceptor } from '../preconditions/etag.interceptor.js';
import { addOutside, hasInterceptors } from '../routes/outermost.js';
import { operationOf } from '../routes/operation.js';
import type { Route } from '../routes/route.js';
import { type Copy, whitelistFor } from './whitelist.js';

type Handler = (...given: unknown[]) => unknown;

/** Every handler that `whitelistResult` has wrapped, and how it copies its result; undefined if it does not. */
const copies = new WeakMap<Route['handler'], Copy | undefined>();

/** How the interceptor below copies the results of handlers that do not copy them. */
const intercepted = new WeakMap<Route['handler'], Copy | undefined>();

/** Interceptors outside of the whitelist, because they store or tag what is sent. */
const OUTER: readonly unknown[] = [IdempotencyInterceptor, EtagInterceptor];

const interceptor: NestInterceptor = {
  intercept(context, next) {
    const copy = intercepted.get(context.getHandler());
    return copy ? next.handle().pipe(map(copy)) : next.handle();
  },
};

/** Wraps a handler, so that `whitelistResults` can do without an interceptor. Another decorator may wrap it again. */
export function whitelistResult(_target: object, name: string | symbol, descriptor: PropertyDescriptor): void {
  const original = descriptor.value as Handler;
  // A method of the same name, which Nest and the log use.
  const handler = {
    [name](this: unknown, ...given: unknown[]): unknown {
      const result = original.apply(this, given);
      const copy = copies.get(handler);
      return copy ? copyOf(result, copy) : result;
    },
  }[name as string] as Handler;
  for (const key of Reflect.getMetadataKeys(original)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, original), handler);
  }
  copies.set(handler, undefined);
  descriptor.value = handler;
}

/**
 * Removes undocumented properties from results, so that no column is sent by accident. The wrapped handler does so, because
 * an interceptor takes 15 to 22 % of the CPU time of a first page; but if the method or its controller has other
 * interceptors, whose results need the same, an interceptor does.
 *
 * @param isChecked - whether `checkResponse` runs, which undocumented properties must reach
 */
export function whitelistResults(routes: readonly Route[], document: OpenApiDocument, isChecked: boolean): void {
  const operations = routes.filter(operationOf);
  // If several controllers inherit a handler, and one of them needs the interceptor, all get it.
  const needing = new Set(operations.filter(besideOf).map(({ handler }) => handler));
  for (const route of operations) {
    const { controller, handler } = route;
    const copy = isChecked ? undefined : whitelistFor(route, document);
    const isWrapped = copies.has(handler);
    const intercepting = besideOf(route) ?? (needing.has(handler) ? controller : isWrapped ? undefined : handler);
    if (intercepting) {
      addOutside(intercepting, interceptor, OUTER);
    }
    intercepted.set(handler, intercepting && copy);
    if (isWrapped) {
      copies.set(handler, intercepting ? undefined : copy);
    }
  }
}

/** The controller of a route, or else its handler, if it has interceptors of a feature. */
function besideOf({ controller, handler }: Route): object | undefined {
  return [controller, handler].find((target) => hasInterceptors(target, [...OUTER, interceptor]));
}

function copyOf(result: unknown, copy: Copy): unknown {
  if (isObservable(result)) {
    return result.pipe(map(copy));
  }
  const isPending = typeof (result as Partial<Promise<unknown>> | null | undefined)?.then === 'function';
  return isPending ? Promise.resolve(result).then((value) => copyOf(value, copy)) : copy(result);
}
