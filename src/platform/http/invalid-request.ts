import { invalidBody, invalidParameters } from './http-problem-types.js';
import { Problem, type RequestFault } from './problem.js';

/** More are not listed: a response should not be many times as long as its request. */
const MAXIMUM_FAULTS = 100;

/** More are not put in words. */
const MAXIMUM_SENTENCES = 10;

/** The 400 that names the faults of a request, in words and one by one. */
export function invalidRequest(faults: readonly RequestFault[]): Problem {
  const type = faults.some((fault) => 'pointer' in fault) ? invalidBody : invalidParameters;
  const detail =
    faults.length > MAXIMUM_SENTENCES ? `The request has ${faults.length} faults; see errors.` : faults.map(sentence).join(' ');
  return new Problem(type, detail, { errors: faults.slice(0, MAXIMUM_FAULTS) });
}

/** An empty pointer is the whole body, an empty parameter the whole query. */
function sentence(fault: RequestFault): string {
  const words = `${'pointer' in fault ? fault.pointer || 'The body' : fault.parameter || 'The query'} ${fault.detail}`;
  return words.endsWith('?') ? words : `${words}.`;
}
