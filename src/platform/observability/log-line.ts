import { inspect, types } from 'node:util';
import { describeError, type ErrorDescription, reasonOf, withoutSecrets } from './describe-error.js';

/** Levels below an object that are logged, as by Nest's `ConsoleLogger`. */
const MAXIMUM_DEPTH = 5;

/** Names that the fields of a feature cannot have. */
const RESERVED: ReadonlySet<string> = new Set(['level', 'time', 'service', 'context']);

const STACK = /\n[ \t]+at .+:\d+:\d+/;

/**
 * The fields of one log line. A field of a feature whose name is taken gets a `_`.
 *
 * @param platform - what the platform says about the line
 * @param messages - as printed by Nest's `ConsoleLogger`: errors become `err`, objects fields, all else `msg`
 */
export function logLine(platform: object, messages: readonly unknown[]): object {
  const texts: string[] = [];
  const records: Record<string, unknown>[] = [];
  for (const [index, message] of messages.entries()) {
    const value = loggable(message);
    if (Error.isError(message)) {
      records.push({ err: value });
      if (index === 0) texts.push((value as ErrorDescription).message);
    } else if (index > 0 && typeof value === 'string' && STACK.test(value)) {
      records.push({ stack: withoutSecrets(value) });
    } else if (Object(value) !== value || Array.isArray(value)) {
      texts.push(textOf(value));
    } else {
      const record = value as Record<string, unknown>;
      records.push(record);
      if (index === 0 && typeof record['msg'] === 'string') {
        texts.push(record['msg']);
        record['msg'] = undefined;
      }
    }
  }
  const line: Record<string, unknown> = { ...platform, msg: texts.length > 0 ? texts.join(' ') : undefined };
  for (const [name, value] of records.flatMap((record) => Object.entries(record))) {
    let free = RESERVED.has(name) ? `${name}_` : name;
    while (line[free] !== undefined && line[free] !== value) free += '_';
    line[free] = value;
  }
  return line;
}

/** What JSON can hold of a value, with errors described. @param above - outer values, to stop at cycles */
function loggable(value: unknown, above: readonly unknown[] = []): unknown {
  if (typeof value === 'string' || Number.isFinite(value)) {
    return value;
  }
  if (Object(value) !== value) {
    return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'symbol' ? String(value) : value;
  }
  if (above.includes(value)) {
    return '[Circular]';
  }
  try {
    if (Error.isError(value)) {
      return describeError(value);
    }
    return above.length > MAXIMUM_DEPTH ? inspect(value, { depth: -1 }) : partsOf(value as object, [...above, value]);
  } catch (error) {
    return `[${reasonOf(error)}]`;
  }
}

function partsOf(value: object & { toJSON?: () => unknown }, within: readonly unknown[]): unknown {
  if (typeof value === 'function' || ArrayBuffer.isView(value)) {
    return inspect(value);
  }
  const json: unknown = typeof value.toJSON === 'function' ? value.toJSON() : value;
  if (json !== value) {
    return loggable(json, within);
  }
  if (Array.isArray(value) || types.isSet(value)) {
    return Array.from(value, (each) => loggable(each, within));
  }
  if (types.isMap(value)) {
    return Object.fromEntries(Array.from(value, ([key, each]) => [textOf(loggable(key, within)), loggable(each, within)]));
  }
  const names = Object.keys(value);
  const tag = Object.prototype.toString.call(value);
  if (names.length === 0 && tag !== '[object Object]') {
    // The error of a promise is not described.
    return types.isPromise(value) ? tag : inspect(value);
  }
  const parts: Record<string, unknown> = {};
  for (const name of names) {
    const part = (value as Record<string, unknown>)[name];
    if (part === undefined) continue;
    // What is thrown may be no error, and is not to be trusted either.
    const isThrown = name === 'err' && within.length === 1;
    // The name `__proto__` sets the prototype.
    parts[name === '__proto__' ? `${name}_` : name] = isThrown ? describeError(part) : loggable(part, within);
  }
  return parts;
}

/** A text as it is, all else in JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || value === undefined ? String(value) : JSON.stringify(value);
}
