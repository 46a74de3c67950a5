import { parse, type ParsedUrlQuery } from 'node:querystring';
import type { ArgumentMetadata } from '@nestjs/common';
import { type FieldError, invalidRequest, Problem, UNKNOWN_NAME, type ValueFault } from '../problems/problem.js';
import { isDecodable } from '../requests/percent-encoding.js';
import type { Route } from '../routes/route.js';
import { listsIn, RequestValidationPipe } from '../validation/request-validation.pipe.js';
import { RefusedValue } from '../validation/rule.js';

/** Maximum query parameters. Reporting thousands of errors would dominate the cost of a request. */
const MAX_PARAMETERS = 50;

const REPEATED: ValueFault = { code: 'repeated', detail: 'is given more than once: keep one' };
const MALFORMED: ValueFault = { code: 'encoding', detail: 'must be percent-encoded UTF-8: write %25 for a percent sign' };
const UNKNOWN: ValueFault = { code: 'unknown', detail: UNKNOWN_NAME };

/** Not the global pipe: this one only completes the faults of a query that is refused anyway. */
const pipe = new RequestValidationPipe();

/** The query parameters of each handler that the OpenAPI document has as arrays: clients repeat their names. */
export const queryLists = new WeakMap<Route['handler'], ReadonlySet<string>>();

interface QueryPlan {
  /** Names that the handler takes or documents; undefined if a class rejects others. */
  readonly queryNames: ReadonlySet<string> | undefined;
  /** Parameters that may be repeated, if any. */
  readonly repeatable: ReadonlySet<string> | undefined;
  /** Those of them that no pipe and no class converts. */
  readonly lists: readonly string[];
  /** Parameters of the handler that take the whole query, as metadata for the pipe. */
  readonly queryTypes: readonly ArgumentMetadata[];
}

/**
 * Parses a query, and rejects malformed, unknown and repeated parameters (except arrays): guards of routes can rely on it.
 *
 * @param text - what follows the question mark
 * @throws Problem `invalid-parameters` with these faults, and those in the values of the other parameters
 */
export async function readQuery(text: string, plan: QueryPlan): Promise<ParsedUrlQuery> {
  const { queryNames, repeatable, lists, queryTypes } = plan;
  const pairs = text.split('&').filter((pair) => pair !== '');
  if (pairs.length > MAX_PARAMETERS) {
    const detail = `must have at most ${MAX_PARAMETERS} parameters`;
    throw invalidRequest([{ parameter: '', code: 'too_many', detail }]);
  }
  const query = parse(text, '&', '=', { maxKeys: 0 });
  const faults = new Map<string, ValueFault>();
  for (const pair of pairs.filter((each) => !isDecodable(each))) {
    const [written = ''] = pair.split('=', 1);
    // The name under which `parse` has stored the malformed parameter.
    const [name = ''] = Object.keys(parse(written));
    Reflect.deleteProperty(query, name);
    faults.set(isDecodable(written) ? name : written, MALFORMED);
  }
  for (const [name, value] of Object.entries(query)) {
    if (Array.isArray(value) && !repeatable?.has(name)) faults.set(name, REPEATED);
    else if (queryNames?.has(name) === false && !faults.has(name)) faults.set(name, UNKNOWN);
  }
  for (const name of lists) {
    if (typeof query[name] === 'string') query[name] = [query[name]];
  }
  if (repeatable?.size) listsIn.set(query, repeatable);
  if (faults.size > 0) {
    const found = Array.from(faults, ([parameter, fault]) => ({ parameter, ...fault }));
    throw invalidRequest([...found, ...(await valueFaults(query, faults, queryTypes))]);
  }
  return query;
}

/** The faults that the global pipe would find in the values of the other parameters. Changes the query, which is refused. */
async function valueFaults(
  query: ParsedUrlQuery,
  faults: ReadonlyMap<string, ValueFault>,
  types: QueryPlan['queryTypes'],
): Promise<FieldError[]> {
  const refused = Array.from(faults, ([name, fault]) => [name, new RefusedValue(fault)] as const);
  const values = Object.assign(query, Object.fromEntries(refused));
  const found: FieldError[] = [];
  for (const type of types) {
    await pipe.transform(values, type).catch((error: unknown) => {
      if (error instanceof Problem) found.push(...(error.errors ?? []));
    });
  }
  // A fault without a name, of the whole query, can only come from a refused value, which is reported already.
  return found.filter((fault) => 'parameter' in fault && fault.parameter !== '' && !faults.has(fault.parameter));
}
