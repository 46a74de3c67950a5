import { Injectable, type Type } from '@nestjs/common';
import type { Request } from 'express';
import { invalidRequest } from '../http/invalid-request.js';
import { headerValues } from '../http/request-headers.js';
import { jsonPointer, type RequestFault } from '../http/problem.js';
import { malformedParameters } from '../http/query-string.js';
import { readJsonObject } from '../http/read-json-object.js';
import { isHidden } from '../openapi/operation-faults.js';
import { annotationOf, type Route } from '../routes/route.js';
import type { Before, Stage } from '../stages/stage.js';
import { CHECKED_HEADERS, type HeaderRule } from './checked-header.decorator.js';
import { handlerInputs } from './handler-inputs.js';
import { type InputFault, unknownProperty, validateInput } from './validate-input.js';

declare global {
  // Express' own hook for properties that handlers of requests add.
  namespace Express {
    interface Request {
      /** The JSON body as it was sent, before its class made something of it. */
      sentBody?: Record<string, unknown>;
    }
  }
}

/**
 * Reads the body of those requests whose handler takes one, and checks body, query, path parameters and header against what
 * the handler declares, all at once. It runs after the guards: a refused request costs no parsing.
 */
@Injectable()
export class InputStage implements Stage {
  before(route: Route): Before {
    const { body, query, params } = handlerInputs(route);
    // Probes and pages are called with all kinds of parameters.
    const takesAnyQuery = isHidden(route) && !query;
    const headers = (annotationOf(CHECKED_HEADERS, route) ?? []) as HeaderRule[];
    return (request) => {
      const faults: RequestFault[] = [];
      if (params) {
        request.params = check(params, request.params, asParameter, faults) as Request['params'];
      }
      if (!takesAnyQuery) {
        // Parsed first: it refuses too many.
        const given = request.query;
        const malformed = malformedParameters(request.url).map(notEncoded);
        faults.push(...malformed);
        const value = malformed.length > 0 ? {} : checkQuery(query, given, faults);
        Object.defineProperty(request, 'query', { value });
      }
      faults.push(...headers.flatMap((header) => checkHeader(header, request)));
      return body ? readBody(body, request, faults) : refuse(faults);
    };
  }
}

/** @throws Problem that names all faults, if there are any */
function refuse(faults: readonly RequestFault[]): undefined {
  if (faults.length > 0) {
    throw invalidRequest(faults);
  }
}

async function readBody(type: Type<object>, request: Request, faults: RequestFault[]): Promise<void> {
  request.sentBody = await readJsonObject(request);
  request.body = check(type, request.sentBody, asPointer, faults);
  refuse(faults);
}

/** The validated input; its faults are added to those given. */
function check(type: Type<object>, plain: object, locate: (fault: InputFault) => RequestFault, faults: RequestFault[]): object {
  const input = validateInput(type, plain);
  faults.push(...input.faults.map(locate));
  return input.value;
}

/** A parameter given twice is a fault, as is any parameter of a handler that takes none. */
function checkQuery(type: Type<object> | undefined, query: Request['query'], faults: RequestFault[]): object {
  const repeated = Object.keys(query).filter((name) => Array.isArray(query[name]));
  faults.push(...repeated.map((name) => ({ parameter: name, code: 'repeated', detail: 'is given more than once: keep one' })));
  const single =
    repeated.length === 0 ? query : Object.fromEntries(Object.entries(query).filter(([, value]) => !Array.isArray(value)));
  if (type) {
    return check(type, single, asParameter, faults);
  }
  faults.push(...Object.keys(single).map((name) => asParameter(unknownProperty([name]))));
  return {};
}

function checkHeader({ name, findFault }: HeaderRule, request: Request): RequestFault[] {
  const fault = findFault(headerValues(request, name.toLowerCase()));
  return fault ? [{ parameter: name, ...fault }] : [];
}

function notEncoded(parameter: string): RequestFault {
  return { parameter, code: 'encoding', detail: 'must be percent-encoded UTF-8: write %25 for a percent sign' };
}

function asParameter({ path, ...fault }: InputFault): RequestFault {
  return { parameter: path.join('.'), ...fault };
}

function asPointer({ path, ...fault }: InputFault): RequestFault {
  return { pointer: jsonPointer(path), ...fault };
}
