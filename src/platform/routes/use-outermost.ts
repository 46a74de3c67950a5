import type { NestInterceptor, Type } from '@nestjs/common';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';

/** Adds an interceptor outside those of other decorators, in any order. @param outer - stays outside of it */
export function useOutermost(interceptor: Type<NestInterceptor>, outer?: Type<NestInterceptor>): MethodDecorator {
  return (_target, _name, { value }) => {
    const handler = Object(value) as object;
    const others = (Reflect.getMetadata(INTERCEPTORS_METADATA, handler) ?? []) as unknown[];
    const first = others.filter((other) => other === outer);
    const interceptors = [...first, interceptor, ...others.filter((other) => other !== outer)];
    Reflect.defineMetadata(INTERCEPTORS_METADATA, interceptors, handler);
  };
}
