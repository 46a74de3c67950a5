import { RESPONSE_PASSTHROUGH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { nameOf, type Route } from '../routes/route.js';

/** What is wrong with the way in which a handler takes and answers requests. */
export function handlerFaults(route: Route): string[] {
  return [...wrapperFaults(route), ...answerFaults(route)];
}

/** Under another name nothing is found that is said of the route. */
function wrapperFaults({ controller, handler }: Route): string[] {
  const handlers = controller.prototype as Record<string, unknown>;
  if (handlers[handler.name] === handler) {
    return [];
  }
  const method = Object.keys(Object.getOwnPropertyDescriptors(handlers)).find((name) => handlers[name] === handler);
  const remedy = `give that the name of the method, Object.defineProperty(wrapper, 'name', { value: '${method}' }), or use an interceptor.`;
  return [`${controller.name}.${method} is wrapped by a decorator in a function with another name: ${remedy}`];
}

/** What such a handler forgets never ends, and the repeat of an idempotent request would not be answered at all. */
function answerFaults(route: Route): string[] {
  const { controller, handler } = route;
  const inputs = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler.name) ?? {}) as object;
  const takes = (kind: RouteParamtypes) => Object.keys(inputs).some((key) => key.startsWith(`${kind}:`));
  const passesOn = Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, controller, handler.name) === true;
  return (takes(RouteParamtypes.RESPONSE) && !passesOn) || takes(RouteParamtypes.NEXT)
    ? [`${nameOf(route)} answers by itself: return the answer, and set headers with @Res({ passthrough: true }).`]
    : [];
}
