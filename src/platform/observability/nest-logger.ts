import { inspect, types } from 'node:util';
import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import type { Configuration } from '../config/configuration.js';
import { SERVICE_NAME } from '../service/service.js';
import { currentRequest } from '../requests/request.js';
import { describeError, type ErrorDescription, withoutSecrets } from '../errors/describe-error.js';
import { hideCredentials } from '../errors/redaction.js';
import { LogOutput } from './log-output.js';
import { terminalFormat, textOf } from './terminal-format.js';

/** Context of the audit log, which is written at every `LOG_LEVEL` except `silent`. */
export const AUDIT_CONTEXT = 'Audit';

/** Contexts in which Nest logs its own start, at the level `debug` here. */
const START_UP_CONTEXTS = /^(?:InstanceLoader|NestApplication|NestFactory|RouterExplorer|RoutesResolver)$/;

/** Milliseconds for which a signal switches to the level `debug`. */
const DEBUG_TIME = 300_000;

/** Levels below an object and elements of an array that are logged, as by Nest's `ConsoleLogger`. */
const LIMITS = { levels: 5, elements: 100 };

/** Stands for a value whose parts throw. */
const UNREADABLE = '[unreadable]';

/** Names that the fields of a feature cannot have. */
const RESERVED: ReadonlySet<string> = new Set(['level', 'time', 'service', 'context', '__proto__']);

const STACK = /\n[ \t]+at .+:\d+:\d+/;

const LEVELS = { verbose: 'trace', debug: 'debug', log: 'info', warn: 'warn', error: 'error', fatal: 'fatal' } as const;

/** Writes all that Nest's logger prints through pino: one JSON object on each line, or readable text on a terminal. */
export class NestLogger extends ConsoleLogger {
  private readonly auditLogger: Logger;
  private readonly level: string;
  private debugTimer: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Logger) {
    // Passes all levels on: pino drops those that are off.
    super({ json: true, logLevels: ['verbose'] });
    this.level = logger.level;
    this.auditLogger = logger.level === 'silent' ? logger : logger.child({}, { level: 'info' });
  }

  /** @param terminal - standard output; standard error for commands, whose results go to standard output */
  static async create({ LOG_LEVEL, LOG_FORMAT }: Configuration, terminal: NodeJS.WriteStream & { fd: number }) {
    // Lines of commands are not batched, to keep their order among the results.
    const output = new LogOutput(terminal.fd, terminal === process.stdout);
    const options = {
      level: LOG_LEVEL,
      base: { service: SERVICE_NAME },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level: string) => ({ level }) },
      // `logLine` has described the error already.
      serializers: { err: (error: unknown) => error },
    };
    const isJson = LOG_FORMAT === 'json' || (LOG_FORMAT === 'auto' && !terminal.isTTY);
    const format = isJson ? undefined : await terminalFormat();
    return new NestLogger(pino(options, format ? { write: (line: string) => output.write(format(line)) } : output));
  }

  /** Switches to the level `debug` for five minutes, or back before they are over. */
  toggleDebug(): void {
    const { logger, debugTimer } = this;
    if (debugTimer) {
      clearTimeout(debugTimer);
      this.debugTimer = undefined;
      this.log('log level: as configured again', 'Log');
      logger.level = this.level;
    } else {
      this.debugTimer = setTimeout(() => this.toggleDebug(), DEBUG_TIME).unref();
      logger.level = logger.isLevelEnabled('debug') ? this.level : 'debug';
      this.log('log level: debug for five minutes, or until the next SIGUSR2', 'Log');
    }
  }

  protected override printMessages(
    messages: unknown[],
    context?: string,
    logLevel: LogLevel = 'log',
    _stream?: string,
    stack?: unknown,
    params?: object,
  ): void {
    const logger = context === AUDIT_CONTEXT ? this.auditLogger : this.logger;
    const level = logLevel === 'log' && START_UP_CONTEXTS.test(String(context)) ? 'debug' : LEVELS[logLevel];
    if (logger.isLevelEnabled(level)) {
      const given = messages.map((message) => this.resolveMessage(message));
      const further = [stack, params].filter((value) => value !== undefined);
      const line = logLine(context, [...given, ...further]);
      // The line of a request has its own ids, and can be logged in the context of another request.
      const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {};
      line['requestId'] ??= currentRequest()?.id;
      line['traceId'] ??= traceId;
      line['spanId'] ??= spanId;
      logger[level](line);
    }
  }
}

/**
 * The fields of one log line. A field of a feature whose name is taken gets a `_`.
 *
 * @param messages - as printed by Nest's `ConsoleLogger`: errors become `err`, objects fields, all else `msg`
 */
function logLine(context: string | undefined, messages: readonly unknown[]): Record<string, unknown> {
  const texts: string[] = [];
  const records: Record<string, unknown>[] = [];
  for (const [index, message] of messages.entries()) {
    const value = loggable(message);
    if (Error.isError(message) || message instanceof Error) {
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
  const msg = texts.length > 0 ? texts.join(' ') : undefined;
  // An object without prototype, which V8 keeps as a hash table, would make each line take 1.4 times as long.
  const line: Record<string, unknown> = { requestId: undefined, traceId: undefined, spanId: undefined, context, msg };
  for (const record of records) {
    for (const name of Object.keys(record)) {
      let free = RESERVED.has(name) ? `${name}_` : name;
      while (Object.hasOwn(line, free) && ![undefined, record[name]].includes(line[free])) free += '_';
      line[free] = record[name];
    }
  }
  return line;
}

/** Converts a value to what JSON can hold, and describes errors. @param above - outer values, to stop at cycles */
function loggable(value: unknown, above: readonly unknown[] = []): unknown {
  if (typeof value === 'string') {
    // Nested texts of objects that a feature logs whole, such as the headers of a request, can hold credentials.
    return above.length > 2 ? hideCredentials(value) : value;
  }
  if (Number.isFinite(value)) {
    return value;
  }
  if (Object(value) !== value) {
    return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'symbol' ? String(value) : value;
  }
  if (above.includes(value)) {
    return '[Circular]';
  }
  try {
    if (Error.isError(value) || value instanceof Error) {
      return describeError(value);
    }
    return above.length > LIMITS.levels ? inspect(value, { depth: -1 }) : loggableParts(value as object, [...above, value]);
  } catch {
    return Error.isError(value) ? { type: 'Error', message: UNREADABLE } : UNREADABLE;
  }
}

function loggableParts(value: object & { toJSON?: () => unknown }, within: readonly unknown[]): unknown {
  if (typeof value === 'function' || ArrayBuffer.isView(value)) {
    return inspect(value);
  }
  const json: unknown = typeof value.toJSON === 'function' ? value.toJSON() : value;
  if (json !== value) {
    return loggable(json, within);
  }
  if (Array.isArray(value) || types.isSet(value)) {
    return [...value].slice(0, LIMITS.elements).map((each) => loggable(each, within));
  }
  if (types.isMap(value)) {
    return Object.fromEntries(Array.from(value, ([key, each]) => [textOf(loggable(key, within)), loggable(each, within)]));
  }
  const names = Object.keys(value);
  const tag = Object.prototype.toString.call(value);
  if (names.length === 0 && tag !== '[object Object]') {
    // `inspect` would print the error of a promise as it is.
    return types.isPromise(value) ? tag : inspect(value);
  }
  const parts: Record<string, unknown> = {};
  for (const name of names) {
    const part = (value as Record<string, unknown>)[name];
    if (part === undefined) continue;
    // A thrown value that is no error can hold secrets, too: only its message is logged.
    const isThrown = name === 'err' && within.length === 1;
    // The name `__proto__` sets the prototype.
    parts[name === '__proto__' ? `${name}_` : name] = isThrown ? describeError(part) : loggable(part, within);
  }
  return parts;
}
