import type { NestInterceptor, Type } from '@nestjs/common';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';
import type { Route } from './route.js';

type Interceptor = Type<NestInterceptor>;

const interceptorsOf = (target: object) => (Reflect.getMetadata(INTERCEPTORS_METADATA, target) ?? []) as readonly unknown[];

/** Adds an interceptor outside those of the method's other decorators, in any order. @param outer - stay outside of it */
export function useOutermost(interceptor: Interceptor, ...outer: readonly Interceptor[]): MethodDecorator {
  const isOuter = (each: unknown) => outer.some((other) => other === each);
  return (_target, _name, { value }) => {
    const handler = Object(value) as object;
    const own = interceptorsOf(handler);
    const interceptors = [...own.filter(isOuter), interceptor, ...own.filter((each) => !isOuter(each))];
    Reflect.defineMetadata(INTERCEPTORS_METADATA, interceptors, handler);
  };
}

/** Whether an interceptor is one of the method's own. */
export function isUsedBy(handler: Route['handler'], interceptor: Interceptor): boolean {
  return interceptorsOf(handler).includes(interceptor);
}

/** Adds an interceptor of methods to their controllers that have others, outside of those. Nest then calls it twice. */
export function moveOutside(interceptor: Interceptor, routes: readonly Route[]): void {
  for (const { controller, handler } of routes) {
    const others = interceptorsOf(controller);
    if (others.length > 0 && !others.includes(interceptor) && isUsedBy(handler, interceptor)) {
      Reflect.defineMetadata(INTERCEPTORS_METADATA, [interceptor, ...others], controller);
    }
  }
}

/**
 * Removes an interceptor of a method that has no others, and whose controller has none.
 *
 * @param known - interceptors that it may be beside
 * @returns whether the method is without it
 */
export function removeUnlessBeside(interceptor: Interceptor, route: Route, known: readonly Interceptor[]): boolean {
  const kept = interceptorsOf(route.handler).filter((each) => each !== interceptor);
  const others = [...interceptorsOf(route.controller), ...kept].filter((each) => !known.some((one) => one === each));
  if (others.length === 0) {
    Reflect.defineMetadata(INTERCEPTORS_METADATA, kept, route.handler);
  }
  return others.length === 0;
}
