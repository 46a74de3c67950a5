/** What is wrong with a value: a stable code, and what to write instead. */
export interface ValueFault {
  code: string;
  detail: string;
  /** Where in a text, in characters (code points) from its start, the end exclusive. */
  start?: number;
  end?: number;
}

/** One fault of an input, and where it is: property names from the root. */
export interface InputFault extends ValueFault {
  path: readonly string[];
}

/** Stands in an input for a value that could not be parsed. */
export class RefusedValue {
  constructor(readonly fault: ValueFault) {}
}
