import { faultsOfRoute, type Route } from './route.js';

const STATED = 'stated-metadata';

/** What the platform's decorators set on a handler, by metadata key. */
type Stated = Readonly<Record<string, { readonly value: unknown; readonly decorator: string }>>;

/**
 * Sets metadata of a handler, and records it by method name: {@link replacementFaults} finds handlers that are replaced.
 *
 * @param decorator - name of the platform's decorator, for messages
 */
export function SetHandlerMetadata(key: string, value: unknown, decorator: string): MethodDecorator {
  return (target, name, descriptor) => {
    Reflect.defineMetadata(key, value, Object(descriptor.value) as object);
    const stated = Reflect.getOwnMetadata(STATED, target, name) as Stated | undefined;
    Reflect.defineMetadata(STATED, { ...stated, [key]: { value, decorator } } satisfies Stated, target, name);
  };
}

/** Rejects handlers that a decorator has replaced by one without the metadata of the platform's decorators below it. */
export function replacementFaults(route: Route): string[] {
  const { controller, handler, name } = route;
  let owner = controller.prototype as object;
  while (!Object.hasOwn(owner, name)) {
    owner = Object.getPrototypeOf(owner) as object;
  }
  const stated = (Reflect.getOwnMetadata(STATED, owner, name) ?? {}) as Stated;
  const faults = Object.entries(stated).map(([key, { value, decorator }]) => {
    const remedy = `write ${decorator} above that decorator.`;
    const isLost = Reflect.getMetadata(key, handler) !== value;
    return isLost && `has a decorator that replaces the handler and hides ${decorator}: ${remedy}`;
  });
  return faultsOfRoute(route, faults);
}
