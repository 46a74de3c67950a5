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
  faultsOfRoute,
  isObjectOfPart,
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

/** Checks all modules, and warns of creates that cannot be retried safely. @throws OperatorError with every error */
export function checkModules(routes: readonly Route[], messageHandlers: readonly Route[]): void {
  const faults = routes.flatMap((route) => ROUTE_CHECKS.flatMap((check) => check(route)));
  throwFaults([...faults, ...messageHandlers.flatMap(messagePolicyFaults), ...orderFaults()]);
  const remedy = 'add @Idempotent(), or @SafeToRetry() if a retry changes nothing.';
  for (const route of routes) {
    const isPost = methodOf(route) === RequestMethod.POST;
    if (isPost && !isSafeToRetry(route) && tokenPolicyOf(route) !== 'public') {
      new Logger('Boot').warn(`${nameOf(route)} creates a duplicate when a client retries: ${remedy}`);
    }
  }
}

/**
 * Checks the OpenAPI document.
 *
 * @throws OperatorError if the paths of two operations differ only in parameter names, a schema is missing, a response is
 * not limited to what the document says, or a deprecated operation is not in it
 */
export function checkDocument(routes: readonly Route[], document: OpenApiDocument): void {
  const remedy =
    'name its class, as in @ApiProperty({ type: Owner, nullable: true }), or allow all with `additionalProperties: true`.';
  const open = routes.filter(operationOf).flatMap((route) => openPartsOf(route, document));
  throwFaults([
    ...alikePaths(document.get()),
    ...missingSchemas(document.get()),
    ...open.map((name) => `${name} documents no properties, so that all would be sent: ${remedy}`),
    ...routes.flatMap((route) => hiddenOperations(route, document)),
  ]);
}

/** Rejects an operation that is not in the document, which limits its response and announces its deprecation. */
function hiddenOperations(route: Route, document: OpenApiDocument): string[] {
  const { response, deprecated } = operationOf(route) ?? {};
  const isMissing = (response ?? deprecated) !== undefined && document.find(route.handler) === undefined;
  const remedy =
    'leave `response` and `deprecated` out of @Operation(), or remove @ApiExcludeEndpoint() or @ApiExcludeController().';
  return faultsOfRoute(route, [isMissing && `is not in the OpenAPI document, by which these take effect: ${remedy}`]);
}

function alikePaths(document: OpenAPIObject): string[] {
  const calls = operationsOf(document).map(({ call }) => call);
  const groups = [...Map.groupBy(calls, (call) => call.replaceAll(/\{\w+\}/g, '{}')).values()];
  const alike = groups.filter(({ length }) => length > 1);
  return alike.map((equal) => `Several routes match ${equal.join(' and ')}: change the path of one of them.`);
}

function missingSchemas({ paths, components }: OpenAPIObject): string[] {
  const references = JSON.stringify([paths, components]).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
  const names = new Set(Array.from(references, ([, name = '']) => name));
  const missing = [...names].filter((name) => !Object.hasOwn(components?.schemas ?? {}, name));
  return missing.map((name) => `The OpenAPI document refers to ${name}, but lacks it: add @ApiExtraModels(${name}).`);
}

/** @param given - may contain duplicates, because several routes can use the same class */
function throwFaults(given: readonly string[]): void {
  if (given.length > 0) {
    const faults = [...new Set(given)].map((fault) => `- ${fault}`);
    throw new OperatorError(['The application does not start until this is fixed:', ...faults].join('\n'));
  }
}

/** Rejects handlers that send the response themselves, or have another do it: if one forgets to, the request never ends. */
function responseFaults(route: Route): string[] {
  const passesOn = Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, route.controller, route.name) === true;
  const sendsItself = hasParameter(RouteParamtypes.RESPONSE, route) && !passesOn;
  const takesNext = hasParameter(RouteParamtypes.NEXT, route) && !isHidden(route);
  const isConverted = isResultConverted(route) && operationOf(route)?.response !== undefined;
  const resultRemedy = 'its result is not the response, so leave `response` out of @Operation().';
  return faultsOfRoute(route, [
    isConverted && `is an @Sse(), @Redirect() or @Render() route: ${resultRemedy}`,
    sendsItself && 'sends its own response: return the body, and set headers with @Res({ passthrough: true }).',
    takesNext && 'passes the request on with @Next(), so that it may get no response: return the body.',
  ]);
}

/** Rejects inputs without rules, which would accept anything, and path parameters that the input class does not declare. */
function inputFaults(route: Route): string[] {
  const { BODY, QUERY, PARAM } = RouteParamtypes;
  const checked = new Set([...(isBodyDeclared(route) ? [] : [BODY]), QUERY, PARAM]);
  const parameters = parametersOf(route).filter(({ kind, schema }) => schema === undefined && checked.has(kind));
  // A pipe of a part can make its object.
  const inputs = parameters.filter((each) => each.data === undefined || (isObjectOfPart(each) && !each.hasPipes));
  return inputs.flatMap(({ kind, data, type = Object }) => {
    const names = new Set(rulesOf(type).map(({ propertyName }) => propertyName));
    if (names.size === 0) {
      const remedy =
        'use a class with decorated properties for the whole input, and import it without "type", or a Standard Schema ' +
        'in `{ schema }`.';
      const others = kind === BODY ? ' For an array, text, bytes or any JSON, see the options of @UseBodyParser().' : '';
      return faultsOfRoute(route, [`has an input without validation rules: ${remedy}${others}`]);
    }
    const unknown = kind === PARAM && data === undefined ? pathParametersOf(route).filter((name) => !names.has(name)) : [];
    const faults = unknown.map((name) => `ignores the path parameter ${name}: declare it in the class of @Param().`);
    return fieldFaults(type as Type<object>, names).concat(faultsOfRoute(route, faults));
  });
}

/** Rejects fields without a rule or `declare`: every instance has them, as undefined, so that no input passes validation. */
function fieldFaults(type: Type<object>, names: ReadonlySet<string>): string[] {
  const fields = Object.keys(new type()).filter((name) => !names.has(name));
  const remedy = 'add one, such as @IsOptional(), or declare the field with `declare`.';
  return fields.map((name) => `${type.name}.${name} has no validation rule, so that no input is valid: ${remedy}`);
}
