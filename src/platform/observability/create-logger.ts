import type { Writable } from 'node:stream';
import { destination, type Logger, pino } from 'pino';
import type { Configuration } from '../config/configuration.js';
import { SERVICE_NAME } from '../config/service-name.js';
import { isoText } from '../time/iso-text.js';
import { describeError } from './describe-error.js';
import { currentTrace } from '../tracing/current-span.js';
import { currentRequest } from './request-context.js';

/**
 * The process's logger: one JSON object a line, or readable lines on a terminal.
 *
 * @param output - standard output, or standard error where the output is the result of a command
 * @param sink - takes the lines in the place of that output, which then only tells whether it is a terminal
 */
export async function createLogger(
  { LOG_LEVEL, LOG_FORMAT }: Configuration,
  output: NodeJS.WriteStream & { fd: number } = process.stdout,
  sink?: Writable,
): Promise<Logger> {
  const options = {
    level: LOG_LEVEL,
    base: { service: SERVICE_NAME },
    timestamp: () => `,"time":"${isoText(Date.now())}"`,
    formatters: { level: (level: string) => ({ level }) },
    mixin: () => ({ requestId: currentRequest()?.requestId, ...currentTrace() }),
    serializers: { err: describeError },
  };
  if (LOG_FORMAT === 'json' || (LOG_FORMAT === 'auto' && !output.isTTY)) {
    return pino(options, sink ?? destination({ dest: output.fd, sync: true }));
  }
  const { PinoPretty } = await import('pino-pretty');
  const messageFormat = '{if context}{context}: {end}{msg}';
  const layout = { ignore: 'service,context', messageFormat, translateTime: 'SYS:HH:MM:ss.l', singleLine: true };
  return pino(options, PinoPretty({ ...layout, destination: sink ?? output.fd, sync: true }));
}
