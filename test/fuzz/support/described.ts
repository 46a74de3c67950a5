import { asList, asObject, type JsonObject, resolve } from './json.js';
import type { Document, Operation } from '../../support/contract.js';

/** A parameter of an operation. */
export interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly required: boolean;
  readonly schema: JsonObject;
  /** Values that are accepted. */
  readonly examples: readonly string[];
}

/** An operation as its document describes it, with every reference followed. */
export interface Described {
  /** Method and path, as in the document. */
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
  /** Schema of the JSON body, if it takes one. */
  readonly body: JsonObject | undefined;
  /** Statuses of success. */
  readonly successes: readonly number[];
}

/** The operations of a document below a path. */
export function describedOperations(document: Document, below: string): Described[] {
  const root = document as unknown as JsonObject;
  const operations = Object.entries(document.paths)
    .filter(([path]) => path.startsWith(below))
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
    );
  return operations.map(({ path, method, operation }) => {
    const found = asObject(operation);
    const { content } = asObject(found['requestBody']);
    const statuses = Object.keys(asObject(found['responses'])).map(Number);
    return {
      name: `${method} ${path}`,
      method,
      path,
      operation,
      parameters: asList(found['parameters']).map((parameter) => describeParameter(resolve(root, parameter), root)),
      body: content === undefined ? undefined : resolve(root, asObject(asObject(content)['application/json'])['schema']),
      successes: statuses.filter((status) => status < 300),
    };
  });
}

function describeParameter(parameter: JsonObject, root: JsonObject): Parameter {
  return {
    in: String(parameter['in']),
    name: String(parameter['name']),
    required: parameter['required'] === true,
    schema: resolve(root, parameter['schema']),
    examples: Object.values(asObject(parameter['examples'])).map((example) => String(asObject(example)['value'])),
  };
}
