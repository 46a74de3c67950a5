import { writeSync } from 'node:fs';
import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import { type Logger, pino, stdTimeFunctions } from 'pino';
import { Counter } from 'prom-client';
import { type Configuration, SERVICE_NAME } from '../config/configuration.js';
import { currentRequest } from '../http/express.js';
import { logLine, textOf } from './log-line.js';

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

const LEVELS = { verbose: 'trace', debug: 'debug', log: 'info', warn: 'warn', error: 'error', fatal: 'fatal' } as const;

/** Writes all that Nest's logger prints through pino: one JSON object on each line, or readable text on a terminal. */
export class NestLogger extends ConsoleLogger {
  private readonly auditLogger: Logger;

  constructor(private readonly logger: Logger) {
    // pino knows the levels that are off.
    super({ json: true, logLevels: ['verbose'] });
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
      // It is described already.
      serializers: { err: (error: unknown) => error },
    };
    if (LOG_FORMAT === 'json' || (LOG_FORMAT === 'auto' && !terminal.isTTY)) {
      return new NestLogger(pino(options, output));
    }
    const { prettyFactory } = await import('pino-pretty');
    const ignore = 'service,context,method,path,status,durationMs,name,quickstart,pid,hostname,timestamp,caller';
    const format = prettyFactory({ ignore, messageFormat, translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
    return new NestLogger(pino(options, { write: (line) => output.write(format(line)) }));
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
      const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {};
      const platform = { requestId: currentRequest()?.id, traceId, spanId, context };
      const given = messages.map((message) => this.resolveMessage(message));
      const further = [stack, params].filter((value) => value !== undefined);
      logger[level](logLine(platform, [...given, ...further]));
    }
  }
}

/** The message of a line on a terminal, such as `GET /v1/items 200 3 ms`. pino-pretty appends the remaining fields. */
function messageFormat(line: Record<string, unknown>): string {
  const { context, method, path, msg, status, durationMs, name, quickstart } = line;
  if (quickstart) {
    return quickstartBlock(quickstart as Quickstart);
  }
  const time = typeof durationMs === 'number' ? `${Math.round(durationMs)} ms` : durationMs;
  const origin = typeof context === 'string' ? `${context}:` : undefined;
  const text = origin === undefined && msg === 'request' ? undefined : msg;
  // pino-pretty takes these for fields of pino.
  const others = Object.entries(line).filter(([key]) => /^(?:pid|hostname|timestamp|caller)$/.test(key));
  const rest = others.length > 0 ? Object.fromEntries(others) : undefined;
  const parts = [origin, method, path, text, status, time, name, rest];
  return parts.flatMap((part) => (part === undefined ? [] : textOf(part))).join(' ');
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
