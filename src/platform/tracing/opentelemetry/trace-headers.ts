import type { IncomingHttpHeaders } from 'node:http';
import { type Context, ROOT_CONTEXT, type TextMapGetter, type TextMapSetter } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { hideCredentials } from '../../auth/hide-credentials.js';

/** Longest header of these that is read, in characters: what a `tracestate` must be passed on of (W3C Trace Context, section 3.3.1.5). */
const LONGEST_HEADER = 512;

const propagator = new W3CTraceContextPropagator();

const getter: TextMapGetter<IncomingHttpHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => {
    const value = headers[name];
    // A state is passed on and exported: it must not take a token along.
    return typeof value === 'string' && value.length <= LONGEST_HEADER && hideCredentials(value) === value ? value : undefined;
  },
};

/** The trace that a request continues; an empty context if its headers name none, or not as W3C Trace Context wants it. */
export function contextOf(headers: IncomingHttpHeaders): Context {
  return propagator.extract(ROOT_CONTEXT, headers, getter);
}

/** The headers that let another service continue a trace. */
export function headersOf(context: Context): Record<string, string> {
  const headers: Record<string, string> = {};
  const setter: TextMapSetter<Record<string, string>> = {
    set: (carrier, name, value) => {
      carrier[name] = value;
    },
  };
  propagator.inject(context, headers, setter);
  return headers;
}
