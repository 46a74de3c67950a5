import { Logger, RequestMethod, type Type } from '@nestjs/common';
import { RESPONSE_PASSTHROUGH_METADATA } from '@nestjs/common/constants.js';
import type { OpenAPIObject } from '@nestjs/swagger';
import { messagePolicyFaults, tokenPolicyFaults, tokenPolicyOf } from '../auth/scopes.guard.js';
import { OperatorError } from '../errors/operator-error.js';
import { isBodyDeclared } from '../bodies/use-body-parser.decorator.js';
import { idempotencyFaults, isSafeToRetry } from '../idempotency/idempotent.decorator.js';
import { orderFaults } from '../lists/list-options.js';
import { deprecationFaults } from '../openapi/deprecation.js';
import { conditionFaults } from '../openapi/describe-conditions.js';
import { type OpenApiDocument, operationsOf } from '../openapi/openapi-document.js';
import { openPartsOf } from '../responses/open-schemas.js';
import {
  isResultConverted,
  methodOf,
  nameOf,
  parametersOf,
  pathParametersOf,
  type Route,
  RouteParamtypes,
  hasParameter,
} from '../routes/route.js';
import { replacementFaults } from '../routes/handler-metadata.js';
import { isHidden, operationOf } from '../routes/operation.js';
import { throttleFaults } from '../throttling/throttle-faults.js';
import { rulesOf } from '../validation/rule.js';

const ROUTE_CHECKS = [
  replacementFaults,
  tokenPolicyFaults,
  idempotencyFaults,
  responseFaults,
  inputFaults,
  conditionFaults,
  deprecationFaults,
  (route: Route) => throttleFaults(route, tokenPolicyOf(route) === 'public'),
];

const INPUTS: ReadonlySet<RouteParamtypes> = new Set([RouteParamtypes.BODY, RouteParamtypes.QUERY, RouteParamtypes.PARAM]);

/** Checks all modules, and warns of creates that cannot be retried safely. @throws OperatorError with every error */
export function checkModules(routes: readonly Route[], messageHandlers: readonly Route[]): void {
  const faults = routes.flatMap((route) => ROUTE_CHECKS.flatMap((faultsOf) => faultsOf(route)));
  throwFaults([...faults, ...messageHandlers.flatMap(messagePolicyFaults), ...orderFaults()]);
  for (const route of routes) {
    const isPost = methodOf(route) === RequestMethod.POST;
    if (isPost && !isSafeToRetry(route) && tokenPolicyOf(route) !== 'public') {
      const remedy = 'add @Idempotent(), or @SafeToRetry() if a retry changes nothing.';
      new Logger('Boot').warn(`${nameOf(route)} creates a duplicate when a client retries: ${remedy}`);
    }
  }
}

/**
 * Checks the OpenAPI document.
 *
 * @throws OperatorError if the paths of two operations differ only in parameter names, a schema is missing, or a response is
 * not limited to what the document says
 */
export function checkDocument(routes: readonly Route[], document: OpenApiDocument): void {
  const open = routes.filter(operationOf).flatMap((route) => openPartsOf(route, document));
  const remedy =
    'name its class, as in @ApiProperty({ type: Owner, nullable: true }), or allow all with `additionalProperties: true`.';
  const openFaults = open.map((name) => `${name} documents no properties, so that all would be sent: ${remedy}`);
  throwFaults([
    ...alikePaths(document.get()),
    ...missingSchemas(document.get()),
    ...openFaults,
    ...routes.flatMap((route) => hiddenResponses(route, document)),
  ]);
}

/** Rejects a response that the document would limit, if the document does not have it. */
function hiddenResponses(route: Route, document: OpenApiDocument): string[] {
  const isLimited = operationOf(route)?.response === undefined || document.find(route.handler) !== undefined;
  const remedy = 'leave `response` out of @Operation(), or remove @ApiExcludeEndpoint() or @ApiExcludeController().';
  return isLimited ? [] : [`${nameOf(route)} is not in the OpenAPI document, which would limit its response: ${remedy}`];
}

function alikePaths(document: OpenAPIObject): string[] {
  const calls = operationsOf(document).map(({ call }) => call);
  const alike = [...Map.groupBy(calls, (call) => call.replaceAll(/\{\w+\}/g, '{}')).values()].filter(
    ({ length }) => length > 1,
  );
  return alike.map((equal) => `Several routes match ${equal.join(' and ')}: change the path of one of them.`);
}

function missingSchemas({ paths, components }: OpenAPIObject): string[] {
  const references = JSON.stringify([paths, components]).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
  const names = new Set(Array.from(references, ([, name = '']) => name));
  const missing = [...names].filter((name) => !Object.hasOwn(components?.schemas ?? {}, name));
  return missing.map((name) => `The OpenAPI document refers to ${name}, but lacks it: add @ApiExtraModels(${name}).`);
}

/** @param given - a fault of a class that several routes use occurs several times */
function throwFaults(given: readonly string[]): void {
  const faults = [...new Set(given)];
  if (faults.length > 0) {
    throw new OperatorError(
      `The application does not start until this is fixed:\n${faults.map((fault) => `- ${fault}`).join('\n')}`,
    );
  }
}

/** Rejects handlers that send the response themselves, or have another do it: if one forgets to, the request never ends. */
function responseFaults(route: Route): string[] {
  const passesOn = Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, route.controller, route.name) === true;
  const sendsItself = hasParameter(RouteParamtypes.RESPONSE, route) && !passesOn;
  const calls = hasParameter(RouteParamtypes.NEXT, route) && !isHidden(route);
  const isConverted = isResultConverted(route) && operationOf(route)?.response !== undefined;
  const resultRemedy = 'its result is not the response, so leave `response` out of @Operation().';
  const remedy = 'return the body, and set headers with @Res({ passthrough: true }).';
  return [
    ...(isConverted ? [`${nameOf(route)} is an @Sse(), @Redirect() or @Render() route: ${resultRemedy}`] : []),
    ...(sendsItself ? [`${nameOf(route)} sends its own response: ${remedy}`] : []),
    ...(calls
      ? [`${nameOf(route)} passes the request on with @Next(), so that it may get no response: return the body.`]
      : []),
  ];
}

/** Rejects inputs without rules, which would accept anything, and path parameters that the input class does not declare. */
function inputFaults(route: Route): string[] {
  const inputs = parametersOf(route).filter(({ kind, data, schema }) => (data ?? schema) === undefined && INPUTS.has(kind));
  const checked = inputs.filter(({ kind }) => kind !== RouteParamtypes.BODY || !isBodyDeclared(route));
  return checked.flatMap(({ kind, type = Object }) => {
    const names = new Set(rulesOf(type).map(({ propertyName }) => propertyName));
    if (names.size === 0) {
      const remedy =
        'use a class with decorated properties for the whole input, and import it without "type", or a Standard Schema ' +
        'in `{ schema }`';
      const others =
        kind === RouteParamtypes.BODY ? '. For an array, text, bytes or any JSON, see the options of @UseBodyParser()' : '';
      return [`${nameOf(route)} has an input without validation rules: ${remedy}${others}.`];
    }
    const unknown = kind === RouteParamtypes.PARAM ? pathParametersOf(route).filter((name) => !names.has(name)) : [];
    return fieldFaults(type as Type<object>, names).concat(
      unknown.map((name) => `${nameOf(route)} ignores the path parameter ${name}: declare it in the class of @Param().`),
    );
  });
}

/** Rejects fields without a rule: each instance has them, as undefined, and is rejected for a name that was not sent. */
function fieldFaults(type: Type<object>, names: ReadonlySet<string>): string[] {
  const fields = Object.keys(new type()).filter((name) => !names.has(name));
  const remedy = 'add one, such as @IsOptional(), or declare the field with `declare`.';
  return fields.map((name) => `${type.name}.${name} has no validation rule, so that no input is valid: ${remedy}`);
}
