import type { Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { getMetadataStorage } from 'class-validator';

/** The classes that a handler declares for the parts of a request; what is undefined it does not take. */
export interface HandlerInputs {
  body: Type<object> | undefined;
  query: Type<object> | undefined;
  params: Type<object> | undefined;
}

/**
 * Reads them from the parameters of the handler, `@Body() body: CreateItemDto`.
 *
 * @throws Error when one has no class with validation rules, which would let anything through
 */
export function handlerInputs(controller: Type, handler: { name: string }): HandlerInputs {
  const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler.name) ?? {}) as Record<string, { index: number }>;
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, handler.name) ?? []) as Type<object>[];
  const inputOf = (kind: RouteParamtypes) => {
    const [, argument] = Object.entries(args).find(([key]) => key.startsWith(`${kind}:`)) ?? [];
    return argument && validated(types[argument.index], `${controller.name}.${handler.name}`);
  };
  return { body: inputOf(RouteParamtypes.BODY), query: inputOf(RouteParamtypes.QUERY), params: inputOf(RouteParamtypes.PARAM) };
}

function validated(type: Type<object> | undefined, place: string): Type<object> {
  const rules = type ? getMetadataStorage().getTargetValidationMetadatas(type, '', false, false) : [];
  if (!type || rules.length === 0) {
    throw new Error(
      `${place} takes an input without validation rules: declare it whole, as a class with decorated properties, ` +
        'and import that class without "type".',
    );
  }
  return type;
}
