import type { ValueFault } from '../http/problem.js';

/** One fault of an input, and where it is: property names from the root. */
export interface InputFault extends ValueFault {
  path: readonly string[];
}

/** Stands in an input for a value that could not be parsed. */
export class RefusedValue {
  constructor(readonly fault: ValueFault) {}
}
