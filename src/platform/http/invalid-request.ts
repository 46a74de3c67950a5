import { invalidBody, invalidParameters } from './http-problem-types.js';
import { Problem, type RequestFault } from './problem.js';

/** Maximum faults in `errors`: a response should not be much longer than its request. */
const MAXIMUM_FAULTS = 100;

/** Maximum faults in `detail`. */
const MAXIMUM_SENTENCES = 10;

/** The 400 problem for the faults of a request. */
export function invalidRequest(faults: readonly RequestFault[]): Problem {
  const type = faults.some((fault) => 'pointer' in fault) ? invalidBody : invalidParameters;
  const detail =
    faults.length > MAXIMUM_SENTENCES ? `The request has ${faults.length} errors: see "errors".` : faults.map(sentence).join(' ');
  return new Problem(type, detail, { errors: faults.slice(0, MAXIMUM_FAULTS) });
}

/** An empty pointer is the whole body; an empty parameter is the whole query. */
function sentence(fault: RequestFault): string {
  const words = `${'pointer' in fault ? fault.pointer || 'The body' : fault.parameter || 'The query'} ${fault.detail}`;
  return words.endsWith('?') ? words : `${words}.`;
}
