import type { NestInterceptor, Type } from '@nestjs/common';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';

type Interceptor = Type<NestInterceptor>;

const interceptorsOf = (target: object) => (Reflect.getMetadata(INTERCEPTORS_METADATA, target) ?? []) as readonly unknown[];

/** {@link addOutside} as a decorator of methods, at any position. @param outer - interceptors that stay outside of it */
export function useOutermost(interceptor: Interceptor, ...outer: readonly Interceptor[]): MethodDecorator {
  return (_target, _name, { value }) => addOutside(Object(value) as object, interceptor, outer);
}

/** Adds an interceptor to a method or controller, outside of its others. @param outer - those that stay outside of it */
export function addOutside(target: object, interceptor: Interceptor | NestInterceptor, outer: readonly unknown[]): void {
  const others = interceptorsOf(target).filter((each) => each !== interceptor);
  const outside = others.filter((each) => outer.includes(each));
  const inside = others.filter((each) => !outer.includes(each));
  Reflect.defineMetadata(INTERCEPTORS_METADATA, [...outside, interceptor, ...inside], target);
}

/** Whether a method or controller has other interceptors than the known ones. */
export function hasInterceptors(target: object, known: readonly unknown[]): boolean {
  return interceptorsOf(target).some((each) => !known.includes(each));
}
