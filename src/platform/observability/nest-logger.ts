import type { LoggerService } from '@nestjs/common';
import type { Level, Logger } from 'pino';

/** Name of the logger whose lines are written at any `LOG_LEVEL` but `silent`. */
export const AUDIT_CONTEXT = 'Audit';

/** What Nest tells of its own start; of interest only to whoever debugs that. */
const START_UP_CONTEXTS: ReadonlySet<unknown> = new Set([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'RouterExplorer',
  'RoutesResolver',
]);

/** Lets Nest's own `Logger`, which every class uses, write through pino. */
export class NestLogger implements LoggerService {
  private readonly auditLogger: Logger;

  constructor(private readonly logger: Logger) {
    this.auditLogger = logger.level === 'silent' ? logger : logger.child({}, { level: 'info' });
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write(START_UP_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest appends a stack to some errors, and then the name of the logging class. */
  private write(level: Level, message: unknown, rest: unknown[]): void {
    const stack = rest.find((value) => typeof value === 'string' && value.includes('\n    at '));
    const context = rest.findLast((value) => value !== stack);
    const logger = context === AUDIT_CONTEXT ? this.auditLogger : this.logger;
    const fields = { context, stack };
    if (Error.isError(message)) {
      logger[level]({ ...fields, err: message }, message.message);
    } else if (typeof message === 'string') {
      logger[level](fields, message);
    } else {
      logger[level]({ ...fields, ...printed(message) });
    }
  }
}

/** What an object says of itself for print-outs, if it does. */
function printed(message: unknown): object {
  const value = Object(message) as { toJSON?(): object };
  return value.toJSON?.() ?? value;
}
