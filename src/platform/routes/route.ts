import type { ExecutionContext, INestApplicationContext, Type } from '@nestjs/common';
import { PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';

/** A controller method that handles requests. */
export interface Route {
  readonly controller: Type;
  readonly handler: ReturnType<ExecutionContext['getHandler']>;
  /** Name of the method. The handler's own name differs if a decorator wraps it. */
  readonly name: string;
}

/** All routes of an application. */
export function routesOf(app: INestApplicationContext): Route[] {
  const controllers = app.get(DiscoveryService).getControllers();
  return controllers.flatMap(({ metatype }) => {
    const controller = metatype as Type;
    const handlers = controller.prototype as Record<string, Route['handler']>;
    return new MetadataScanner().getAllMethodNames(handlers).flatMap((name) => {
      const handler = handlers[name];
      return handler && Reflect.hasMetadata(PATH_METADATA, handler) ? [{ controller, handler, name }] : [];
    });
  });
}

/** For messages, such as `ItemsController.listItems`. */
export function nameOf({ controller, name }: Route): string {
  return `${controller.name}.${name}`;
}

/** Metadata of a route, or else of its controller class, without the classes that it extends. */
export function metadataOf(key: string, { controller, handler }: Pick<Route, 'controller' | 'handler'>): unknown {
  return Reflect.getMetadata(key, handler) ?? Reflect.getOwnMetadata(key, controller);
}

/**
 * The handler parameters that take a part of the request, such as `@Body() body: CreateItemDto`.
 *
 * @returns `data` is the name of the part, `id` in `@Param('id')`; `type` is undefined for a class imported with `import type`;
 *   `schema` is a Standard Schema, as in `@Param('id', { schema })`
 */
export function parametersOf({ controller, name }: Pick<Route, 'controller' | 'name'>) {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<
    string,
    { index: number; data?: unknown; schema?: unknown }
  >;
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, name) ?? []) as Type<object>[];
  // Custom decorators use other keys.
  const own = Object.entries(parameters).filter(([key]) => /^\d+:/.test(key));
  return own.map(([key, { index, data, schema }]) => ({
    kind: Number.parseInt(key, 10) as RouteParamtypes,
    data,
    schema,
    type: types[index],
  }));
}

export function takes(kind: RouteParamtypes, route: Pick<Route, 'controller' | 'name'>): boolean {
  return parametersOf(route).some((parameter) => parameter.kind === kind);
}

export { RouteParamtypes };
