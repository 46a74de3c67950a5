import type { ArgumentMetadata, ExecutionContext, INestApplicationContext, RequestMethod, Type } from '@nestjs/common';
import {
  METHOD_METADATA,
  MODULE_PATH,
  PATH_METADATA,
  REDIRECT_METADATA,
  RENDER_METADATA,
  ROUTE_ARGS_METADATA,
  SSE_METADATA,
} from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { DECORATORS } from '@nestjs/swagger';

/** A controller method that handles requests, or a handler of messages. */
export interface Route {
  readonly controller: Type;
  readonly handler: ReturnType<ExecutionContext['getHandler']>;
  /** Name of the method. The handler's own name differs if a decorator wraps it. */
  readonly name: string;
  /** Path that `RouterModule` gives the module of the controller. */
  readonly modulePath?: string | undefined;
}

/** Metadata of Nest's packages for WebSockets, microservices and GraphQL, which may not be installed. */
const GATEWAY = 'websockets:is_gateway';
const MESSAGE_HANDLER = /^(?:websockets:message_mapping|microservices:pattern|graphql:resol)/;

export function routesOf(app: INestApplicationContext): Route[] {
  const pathOfModule = MODULE_PATH + app.get(ModulesContainer).applicationId;
  const controllers = app.get(DiscoveryService).getControllers();
  return controllers.flatMap(({ metatype, host }) => {
    const modulePath = Reflect.getMetadata(pathOfModule, host?.metatype ?? Object) as string | undefined;
    const routes = handlersOf(metatype as Type, (key) => key === PATH_METADATA);
    return routes.map((route) => Object.assign(route, { modulePath }));
  });
}

/** All handlers that no HTTP request reaches: of messages, of GraphQL operations, and of the connections of a gateway. */
export function messageHandlersOf(app: INestApplicationContext): Route[] {
  const discovery = app.get(DiscoveryService);
  const found = [...discovery.getControllers(), ...discovery.getProviders()];
  return found.flatMap(({ metatype }) => {
    const controller = (metatype ?? Object) as Type;
    const connections = { controller, handler: controller, name: 'handleConnection' };
    const handlers = handlersOf(controller, (key) => MESSAGE_HANDLER.test(key));
    return handlers.concat(Reflect.hasMetadata(GATEWAY, controller) ? connections : []);
  });
}

/**
 * @param controller - a class, or a function that makes a provider
 * @param isOfHandler - whether a method with this metadata key is a handler
 */
function handlersOf(controller: Type, isOfHandler: (key: string) => boolean): Route[] {
  const methods = (controller.prototype ?? {}) as Record<string, Route['handler']>;
  return new MetadataScanner().getAllMethodNames(methods).flatMap((name) => {
    const handler = methods[name];
    const keys = handler ? (Reflect.getMetadataKeys(handler) as unknown[]) : [];
    return handler && keys.some((key) => isOfHandler(String(key))) ? [{ controller, handler, name }] : [];
  });
}

/** For messages, such as `ItemsController.listItems`. */
export function nameOf({ controller, name }: Route): string {
  return `${controller.name}.${name}`;
}

/** Messages: the name of the route and each fault. @param faults - sentences without subject; false if a check passed */
export function faultsOfRoute(route: Route, faults: readonly (string | false)[]): string[] {
  return faults.flatMap((fault) => (fault === false ? [] : `${nameOf(route)} ${fault}`));
}

export function methodOf({ handler }: Pick<Route, 'handler'>): RequestMethod {
  return Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod;
}

/** Metadata of a handler, or else of its controller, but not of classes that the controller extends. */
export function metadataOf(key: string, { controller, handler }: Pick<Route, 'controller' | 'handler'>): unknown {
  return Reflect.getMetadata(key, handler) ?? Reflect.getOwnMetadata(key, controller);
}

/**
 * The handler parameters that take a part of the request, such as `@Body() body: CreateItemDto`.
 *
 * @returns `data` is the name of the part, `id` in `@Param('id')`; `type` is undefined for a class imported with
 *   `import type`; `schema` is a Standard Schema, as in `@Param('id', { schema })`
 */
export function parametersOf({ controller, name }: Pick<Route, 'controller' | 'name'>) {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<
    string,
    { index: number; data?: unknown; schema?: ArgumentMetadata['schema']; pipes?: readonly unknown[] }
  >;
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, name) ?? []) as Type<object>[];
  // Keys of custom decorators do not begin with a number.
  const own = Object.entries(parameters).filter(([key]) => /^\d+:/.test(key));
  return own.map(([key, { index, data, schema, pipes = [] }]) => ({
    kind: Number.parseInt(key, 10) as RouteParamtypes,
    data,
    schema,
    hasPipes: pipes.length > 0,
    type: types[index],
  }));
}

/** What `@ApiParam`, `@ApiQuery`, `@ApiBody` and the like have documented of a handler or a controller. */
export function documentedParameters(target: object) {
  const documented: unknown = Reflect.getMetadata(DECORATORS.API_PARAMETERS, target);
  return (documented ?? []) as readonly { readonly name?: unknown; readonly in?: string; readonly type?: unknown }[];
}

/** Types of parts that Nest's validation pipe leaves as they are. A class imported with "type" is an `Object`. */
const PLAIN: ReadonlySet<unknown> = new Set([undefined, String, Boolean, Number, Array, Object, Buffer, Date]);

/** Whether a parameter takes a part of the request as an object, as in `@Param('id', CatByIdPipe) cat: Cat`. */
export function isObjectOfPart({ data, schema, type }: ReturnType<typeof parametersOf>[number]): boolean {
  return data !== undefined && schema === undefined && !PLAIN.has(type);
}

export function pathParametersOf({ controller, handler, modulePath = '' }: Route): string[] {
  const paths = [controller, handler].flatMap((target) => Reflect.getMetadata(PATH_METADATA, target) as string | string[]);
  return [modulePath, ...paths].flatMap((path) => [...path.matchAll(/[:*](\w+)/g)].map(([, name = '']) => name));
}

export function hasParameter(kind: RouteParamtypes, route: Pick<Route, 'controller' | 'name'>): boolean {
  return parametersOf(route).some((parameter) => parameter.kind === kind);
}

/** Whether Nest does not send the result of a handler, but converts it to events, a redirection or a page. */
export function isResultConverted({ handler }: Pick<Route, 'handler'>): boolean {
  return [SSE_METADATA, REDIRECT_METADATA, RENDER_METADATA].some((key) => Reflect.hasMetadata(key, handler));
}

export { RouteParamtypes };
