import type { Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { Route } from '../routes/route.js';

/** The classes that a handler declares for the parts of a request; what is undefined it does not take. */
export interface HandlerInputs {
  readonly body: Type<object> | undefined;
  readonly query: Type<object> | undefined;
  readonly params: Type<object> | undefined;
}

/** Reads them from the parameters of the handler, `@Body() body: CreateItemDto`. */
export function handlerInputs({ controller, handler }: Route): HandlerInputs {
  const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler.name) ?? {}) as Record<string, { index: number }>;
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, handler.name) ?? []) as Type<object>[];
  const inputOf = (kind: RouteParamtypes) => {
    const [, argument] = Object.entries(args).find(([key]) => key.startsWith(`${kind}:`)) ?? [];
    // What reflection cannot tell, such as a class that was imported with "type", has no rules: nothing passes.
    return argument && (types[argument.index] ?? Object);
  };
  return { body: inputOf(RouteParamtypes.BODY), query: inputOf(RouteParamtypes.QUERY), params: inputOf(RouteParamtypes.PARAM) };
}
