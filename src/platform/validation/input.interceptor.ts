import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor, type Type } from '@nestjs/common';
import type { Request } from 'express';
import type { Observable } from 'rxjs';
import { invalidRequest } from '../http/invalid-request.js';
import { jsonPointer } from '../http/json-structure.js';
import type { RequestFault } from '../http/problem.js';
import { malformedParameters } from '../http/query-string.js';
import { readJsonObject } from '../http/read-json-object.js';
import { annotationOf, type Route, routeOf } from '../routes/route.js';
import { ANY_QUERY } from './any-query.decorator.js';
import { CHECKED_HEADERS, type HeaderRule } from './checked-header.decorator.js';
import { type HandlerInputs, handlerInputs } from './handler-inputs.js';
import type { InputFault } from './input-fault.js';
import { unknownProperty, validateInput } from './validate-input.js';

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
export class InputInterceptor implements NestInterceptor {
  private readonly inputs = new WeakMap<Route['handler'], HandlerInputs>();

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<Request>();
    const route = routeOf(context);
    const { body, query, params } = this.inputsOf(route);
    const faults: RequestFault[] = [];
    if (params) {
      request.params = check(params, request.params, asParameter, faults) as Request['params'];
    }
    if (annotationOf(ANY_QUERY, route) !== true) {
      const malformed = malformedParameters(request.url).map(notEncoded);
      faults.push(...malformed);
      const value = malformed.length > 0 ? {} : checkQuery(query, request.query, faults);
      Object.defineProperty(request, 'query', { value });
    }
    const headers = (annotationOf(CHECKED_HEADERS, route) ?? []) as HeaderRule[];
    faults.push(...headers.flatMap((header) => checkHeader(header, request)));
    if (body) {
      request.sentBody = await readJsonObject(request);
      request.body = check(body, request.sentBody, asPointer, faults);
    }
    if (faults.length > 0) {
      throw invalidRequest(faults);
    }
    return next.handle();
  }

  private inputsOf(route: Route): HandlerInputs {
    const inputs = this.inputs.get(route.handler) ?? handlerInputs(route);
    this.inputs.set(route.handler, inputs);
    return inputs;
  }
}

/** The validated input; its faults are added to those given. */
function check(type: Type<object>, plain: object, locate: (fault: InputFault) => RequestFault, faults: RequestFault[]): object {
  const input = validateInput(type, plain);
  faults.push(...input.faults.map(locate));
  return input.value;
}

/** A parameter given twice is a fault, as is any parameter of a handler that takes none. */
function checkQuery(type: Type<object> | undefined, query: Request['query'], faults: RequestFault[]): object {
  const entries = Object.entries(query);
  const [repeated, single] = [
    entries.filter(([, value]) => Array.isArray(value)),
    entries.filter(([, value]) => !Array.isArray(value)),
  ];
  faults.push(...repeated.map(([name]) => ({ parameter: name, code: 'repeated', detail: 'is given more than once: keep one' })));
  if (type) {
    return check(type, Object.fromEntries(single), asParameter, faults);
  }
  faults.push(...single.map(([name]) => asParameter(unknownProperty([name]))));
  return {};
}

function checkHeader({ name, findFault }: HeaderRule, { headersDistinct }: Request): RequestFault[] {
  const fault = findFault(headersDistinct[name.toLowerCase()] ?? []);
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
