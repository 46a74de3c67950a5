import { Logger, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, RESPONSE_PASSTHROUGH_METADATA } from '@nestjs/common/constants.js';
import { tokenPolicyFaults, tokenPolicyOf } from '../auth/token-policy.decorator.js';
import { OperatorError } from '../config/operator-error.js';
import type { Tables } from '../database/migrations.module.js';
import { idempotencyFaults, isIdempotent } from '../idempotency/idempotent.decorator.js';
import { filterDefinitions } from '../lists/filter/define-filter.js';
import { missingIndexes } from '../lists/filter-columns.js';
import { nameOf, parametersOf, type Route, RouteParamtypes, takes } from '../routes/route.js';
import { rulesOf } from '../validation/rule.js';

/** Checks of one route. Each returns errors with their fixes. */
const ROUTE_CHECKS = [tokenPolicyFaults, idempotencyFaults, responseFaults, inputFaults];

const INPUTS: ReadonlySet<RouteParamtypes> = new Set([RouteParamtypes.BODY, RouteParamtypes.QUERY, RouteParamtypes.PARAM]);

/**
 * Stops the start when a module lacks something that clients would notice, and warns of creates that cannot be retried.
 *
 * @throws OperatorError that names every fault of all modules
 */
export function checkModules(routes: readonly Route[], tables: Tables): void {
  refuse([
    ...routes.flatMap((route) => ROUTE_CHECKS.flatMap((faultsOf) => faultsOf(route))),
    ...missingIndexes(filterDefinitions(), tables),
  ]);
  for (const route of routes) {
    const isPost = Reflect.getMetadata(METHOD_METADATA, route.handler) === RequestMethod.POST;
    if (isPost && !isIdempotent(route) && tokenPolicyOf(route) !== 'public') {
      new Logger('Boot').warn(
        `${nameOf(route)} creates twice what a client sends twice: add @Idempotent() to allow for retries.`,
      );
    }
  }
}

/**
 * Refuses routes that are equal but for the names of their parameters: only the first would be called.
 *
 * @param paths - of all routes as they were registered, each with its method: `GET /v1/items/:id`
 * @throws OperatorError that names them
 */
export function checkPaths(paths: readonly string[]): void {
  const alike = [...Map.groupBy(paths, (path) => path.replaceAll(/:\w+/g, ':')).values()].filter(({ length }) => length > 1);
  refuse(alike.map((equal) => `Several routes are ${[...new Set(equal)].join(' and ')}: give one of them another path.`));
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) {
    throw new OperatorError(
      `The application does not start until this is fixed:\n${faults.map((fault) => `- ${fault}`).join('\n')}`,
    );
  }
}

/** Handlers that respond by themselves: a request never ends when one forgets it. */
function responseFaults(route: Route): string[] {
  const passesOn = Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, route.controller, route.name) === true;
  return takes(RouteParamtypes.RESPONSE, route) && !passesOn
    ? [`${nameOf(route)} responds by itself: return the body, and set headers with @Res({ passthrough: true }).`]
    : [];
}

/** Inputs without rules, which would accept anything, and path parameters that their class does not have. */
function inputFaults(route: Route): string[] {
  const inputs = parametersOf(route).filter(({ kind, data }) => data === undefined && INPUTS.has(kind));
  return inputs.flatMap(({ kind, type = Object }) => {
    const names = new Set(rulesOf(type).map(({ propertyName }) => propertyName));
    if (names.size === 0) {
      const remedy = 'declare it whole, as a class with decorated properties, and import that class without "type".';
      return [`${nameOf(route)} takes an input without validation rules: ${remedy}`];
    }
    const unknown = kind === RouteParamtypes.PARAM ? pathParametersOf(route).filter((name) => !names.has(name)) : [];
    return unknown.map(
      (name) => `${nameOf(route)} does not take the path parameter ${name}: declare it in the class of @Param().`,
    );
  });
}

function pathParametersOf({ controller, handler }: Route): string[] {
  const paths = [controller, handler].flatMap((target) => Reflect.getMetadata(PATH_METADATA, target) as string | string[]);
  return paths.flatMap((path) => [...path.matchAll(/[:*](\w+)/g)].map(([, name = '']) => name));
}
