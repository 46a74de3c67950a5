import type { ValueFault } from '../http/problem.js';

/** Metadata key of {@link CheckedHeader}. */
export const CHECKED_HEADERS = 'checked-headers';

/** A request header and what its values must be. */
export interface HeaderRule {
  name: string;
  /** @param values - one for each time that the header was sent, as it was sent */
  findFault: (values: readonly string[]) => ValueFault | undefined;
}

/** Has a header of the request checked together with its other inputs, so that the client hears of all faults at once. */
export function CheckedHeader(name: string, findFault: HeaderRule['findFault']): MethodDecorator {
  return (controller: object, method: string | symbol) => {
    const others = (Reflect.getOwnMetadata(CHECKED_HEADERS, controller, method) ?? []) as HeaderRule[];
    Reflect.defineMetadata(CHECKED_HEADERS, [...others, { name, findFault }], controller, method);
  };
}
