import type { Request } from 'express';
import { type FaultCode, invalidRequest, type Problem } from '../problems/problem.js';
import { hasBody } from './request.js';

/** The 400 problem for a handler that needs a body. @param mediaTypes - of the body; undefined for a JSON object */
export function missingBody(request: Request, mediaTypes?: readonly string[]): Problem {
  const types = mediaTypes?.join(' or ');
  return hasBody(request)
    ? invalidBodyProblem('media_type', `must be sent with Content-Type: ${types ?? 'application/json'}`)
    : invalidBodyProblem('required', `is missing: send ${types ?? 'a JSON object'}`);
}

/** The 400 problem for a body that cannot be read. */
export function invalidBodyProblem(code: FaultCode, detail: string): Problem {
  return invalidRequest([{ pointer: '', code, detail }]);
}
