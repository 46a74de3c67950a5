import type { LoggerService } from '@nestjs/common';
import type { Level, Logger } from 'pino';

/** Name of the logger whose lines are written at any `LOG_LEVEL` but `silent`. */
export const AUDIT_CONTEXT = 'Audit';

/** Loggers of Nest's own start, whose lines are for debugging. */
const START_UP_CONTEXTS = /^(?:InstanceLoader|NestApplication|NestFactory|RouterExplorer|RoutesResolver)$/;

/** Lets Nest's own `Logger`, which every class uses, write through pino. */
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

  private writer(level: Level) {
    return (message: unknown, ...rest: unknown[]): void => {
      if (rest.length === 0) {
        this.logger[level](fieldsOf(message));
        return;
      }
      // Nest appends a stack to some errors, and then the name of the logging class.
      const stack = rest.find((value) => typeof value === 'string' && value.includes('\n    at '));
      const context = rest.findLast((value) => value !== stack);
      const logger = context === AUDIT_CONTEXT ? this.auditLogger : this.logger;
      const usedLevel = level === 'info' && START_UP_CONTEXTS.test(String(context)) ? 'debug' : level;
      logger[usedLevel]({ context, stack, ...fieldsOf(message) });
    };
  }
}

function fieldsOf(message: unknown): object {
  if (typeof message === 'string') {
    return { msg: message };
  }
  const value = Object(message) as { toJSON?(): object };
  return Error.isError(message) ? { err: message, msg: message.message } : (value.toJSON?.() ?? value);
}
