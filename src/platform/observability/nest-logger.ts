import type { LoggerService } from '@nestjs/common';
import type { Level, Logger } from 'pino';

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
  constructor(private readonly logger: Logger) {}

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
    const fields = { context: rest.findLast((value) => value !== stack), stack };
    if (Error.isError(message)) {
      this.logger[level]({ ...fields, err: message }, message.message);
    } else if (typeof message === 'string') {
      this.logger[level](fields, message);
    } else {
      this.logger[level]({ ...fields, ...Object(message) });
    }
  }
}
