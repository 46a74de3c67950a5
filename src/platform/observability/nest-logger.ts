import { writeSync } from 'node:fs';
import type { LoggerService } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import { type Level, type Logger, pino, stdTimeFunctions } from 'pino';
import { Counter } from 'prom-client';
import { type Configuration, SERVICE_NAME } from '../config/configuration.js';
import { currentRequest } from '../http/express.js';
import { describeError } from './describe-error.js';

/** Context of the audit log, which is written at every `LOG_LEVEL` except `silent`. */
export const AUDIT_CONTEXT = 'Audit';

/** Contexts in which Nest logs its own start, at the level `debug` here. */
const START_UP_CONTEXTS = /^(?:InstanceLoader|NestApplication|NestFactory|RouterExplorer|RoutesResolver)$/;

/** Milliseconds to wait for a slow reader of the log, and between two attempts. */
const READER_TIMEOUT = 1000;
const READER_INTERVAL = 5;

const neverNotified = new Int32Array(new SharedArrayBuffer(4));

/** Of the process, because commands and the start log without an application. */
export const droppedLines = new Counter({
  name: 'items_log_lines_dropped_total',
  help: 'Log lines that could not be written, for example because the disk is full',
  registers: [],
});

/** What a newcomer needs after the first start; `create` and `list` are commands for a shell. */
export interface Quickstart {
  address: string;
  console: string;
  token: string;
  create: string;
  list: string;
}

/** Writes what Nest's `Logger` gets through pino: one JSON object on each line, or readable text on a terminal. */
export class NestLogger implements LoggerService {
  readonly log = this.writer('info');
  readonly error = this.writer('error');
  readonly warn = this.writer('warn');
  readonly debug = this.writer('debug');
  readonly verbose = this.writer('trace');
  readonly fatal = this.writer('fatal');
  private readonly auditLogger: Logger;

  constructor(private readonly logger: Logger) {
    this.auditLogger = logger.level === 'silent' ? logger : logger.child({}, { level: 'info' });
  }

  /** @param terminal - standard output; standard error for commands, whose results go to standard output */
  static async create(
    { LOG_LEVEL, LOG_FORMAT }: Configuration,
    terminal: NodeJS.WriteStream & { fd: number },
  ): Promise<NestLogger> {
    const output = new LogOutput(terminal.fd);
    const options = {
      level: LOG_LEVEL,
      base: { service: SERVICE_NAME },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level: string) => ({ level }) },
      mixin: () => {
        const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {};
        return { requestId: currentRequest()?.id, traceId, spanId };
      },
      serializers: { err: describeError },
    };
    if (LOG_FORMAT === 'json' || (LOG_FORMAT === 'auto' && !terminal.isTTY)) {
      return new NestLogger(pino(options, output));
    }
    const { prettyFactory } = await import('pino-pretty');
    const ignore = 'service,context,method,path,status,durationMs,name,quickstart';
    const format = prettyFactory({ ignore, messageFormat, translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
    return new NestLogger(pino(options, { write: (line) => output.write(format(line)) }));
  }

  private writer(level: Level) {
    return (message: unknown, ...rest: unknown[]): void => {
      // Nest appends a stack to some errors, followed by the context.
      const stack = rest.find((value) => typeof value === 'string' && value.includes('\n    at '));
      const context = rest.findLast((value) => value !== stack);
      const logger = context === AUDIT_CONTEXT ? this.auditLogger : this.logger;
      const usedLevel = level === 'info' && START_UP_CONTEXTS.test(String(context)) ? 'debug' : level;
      logger[usedLevel]({ context, stack, ...fieldsOf(message) });
    };
  }
}

function fieldsOf(message: unknown): object {
  if (Error.isError(message)) {
    return { err: message, msg: message.message };
  }
  const value = Object(message) as { toJSON?(): object };
  return typeof message === 'string' ? { msg: message } : (value.toJSON?.() ?? value);
}

/** The message of a line on a terminal, such as `GET /v1/items 200 3 ms`. pino-pretty appends the remaining fields. */
function messageFormat({ context, method, path, msg, status, durationMs, name, quickstart }: Record<string, unknown>): string {
  if (quickstart) {
    return quickstartBlock(quickstart as Quickstart);
  }
  const time = typeof durationMs === 'number' ? `${Math.round(durationMs)} ms` : undefined;
  const origin = typeof context === 'string' ? `${context}:` : undefined;
  const parts = [origin, method, path, msg === 'request' ? undefined : msg, status, time, name];
  return parts.filter((part) => typeof part === 'string' || typeof part === 'number').join(' ');
}

function quickstartBlock({ address, console: page, token, create, list }: Quickstart): string {
  return `The service is ready.

  Address   ${address}
  Console   ${page}
  Token     ${token}
            This token is shown only once.

  Create an item:
    ${create}

  List the items:
    ${list}
`;
}

/** Writes log lines to a file descriptor. Lines that cannot be written (full disk, no reader for a second) are dropped and counted. */
export class LogOutput {
  /** Whether the latest line was dropped: the next one then does not wait. */
  private isFailing = false;

  constructor(private readonly fd: number) {}

  write(line: string): void {
    const deadline = performance.now() + (this.isFailing ? 0 : READER_TIMEOUT);
    // A dropped line may have been written in part.
    let rest = Buffer.from(this.isFailing ? `\n${line}` : line);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.fd, rest));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() >= deadline) {
          this.drop(error);
          return;
        }
        Atomics.wait(neverNotified, 0, 0, READER_INTERVAL);
      }
    }
    this.isFailing = false;
  }

  private drop(error: unknown): void {
    droppedLines.inc();
    try {
      if (!this.isFailing) writeSync(process.stderr.fd, `Log lines are dropped: ${String(error)}\n`);
    } catch {
      // stderr fails as well.
    }
    this.isFailing = true;
  }
}
