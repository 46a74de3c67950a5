import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor, type Type } from '@nestjs/common';
import type { Request } from 'express';
import type { Observable } from 'rxjs';
import { invalidBody, invalidParameters } from '../http/http-problem-types.js';
import { jsonPointer } from '../http/json-structure.js';
import { Problem, type RequestFault } from '../http/problem.js';
import { readJsonObject } from '../http/read-json-object.js';
import { type HandlerInputs, handlerInputs } from './handler-inputs.js';
import { type InputFault, unknownProperty, validateInput } from './validate-input.js';

type Handler = ReturnType<ExecutionContext['getHandler']>;

/**
 * Reads the body of those requests whose handler takes one, and checks body, query and path parameters against the classes
 * that the handler declares, all at once. It runs after the guards: a refused request costs no parsing.
 */
@Injectable()
export class InputInterceptor implements NestInterceptor {
  private readonly inputs = new WeakMap<Handler, HandlerInputs>();

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<Request>();
    const { body, query, params } = this.inputsOf(context);
    const faults: RequestFault[] = [];
    if (params) {
      request.params = check(params, request.params, asParameter, faults) as Request['params'];
    }
    Object.defineProperty(request, 'query', { value: checkQuery(query, request.query, faults) });
    if (body) {
      request.body = check(body, await readJsonObject(request), asPointer, faults);
    }
    if (faults.length > 0) {
      const type = faults.some((fault) => 'pointer' in fault) ? invalidBody : invalidParameters;
      throw new Problem(type, faults.map(sentence).join(' '), { errors: faults });
    }
    return next.handle();
  }

  private inputsOf(context: ExecutionContext): HandlerInputs {
    const handler = context.getHandler();
    const known = this.inputs.get(handler) ?? handlerInputs(context.getClass<Type>(), handler);
    this.inputs.set(handler, known);
    return known;
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

function asParameter({ path, code, detail }: InputFault): RequestFault {
  return { parameter: path.join('.'), code, detail };
}

function asPointer({ path, code, detail }: InputFault): RequestFault {
  return { pointer: jsonPointer(path), code, detail };
}

function sentence(fault: RequestFault): string {
  return `${'pointer' in fault ? fault.pointer : fault.parameter} ${fault.detail}.`;
}
