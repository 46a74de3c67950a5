import type { ExecutionContext, Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';

/** A method of a controller that handles requests. */
export interface Route {
  readonly controller: Type;
  readonly handler: ReturnType<ExecutionContext['getHandler']>;
  /** Of the method; that of the handler is another one where a decorator wraps it. */
  readonly name: string;
}

/** For messages: `ItemsController.listItems`. */
export function nameOf({ controller, name }: Route): string {
  return `${controller.name}.${name}`;
}

/** What `SetMetadata` left on a route or, where that has none, on its controller: that class, and none that it extends. */
export function metadataOf(key: string, { controller, handler }: Pick<Route, 'controller' | 'handler'>): unknown {
  return Reflect.getMetadata(key, handler) ?? Reflect.getOwnMetadata(key, controller);
}

/** A parameter of a handler that takes a part of the request. */
export interface RouteParameter {
  readonly kind: RouteParamtypes;
  /** Of the part: `id` in `@Param('id')`. */
  readonly data: unknown;
  /** Its class, as far as reflection knows; undefined for one that was imported with `type`. */
  readonly type: Type<object> | undefined;
}

/** The parameters of a handler that have a decorator, such as `@Body() body: CreateItemDto`. */
export function parametersOf({ controller, name }: Pick<Route, 'controller' | 'name'>): RouteParameter[] {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<
    string,
    { index: number; data?: unknown }
  >;
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, name) ?? []) as Type<object>[];
  // Those of custom decorators have other keys.
  const own = Object.entries(parameters).filter(([key]) => /^\d+:/.test(key));
  return own.map(([key, { index, data }]) => ({
    kind: Number.parseInt(key, 10) as RouteParamtypes,
    data,
    type: types[index],
  }));
}

/** Whether a handler takes a part of the request. */
export function takes(kind: RouteParamtypes, route: Pick<Route, 'controller' | 'name'>): boolean {
  return parametersOf(route).some((parameter) => parameter.kind === kind);
}

export { RouteParamtypes };
