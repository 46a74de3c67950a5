import { Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Configuration } from '../config/configuration.js';
import { SERVICE_NAME } from '../config/service-name.js';
import { isoText } from '../time/iso-text.js';
import { describeError } from './describe-error.js';
import { currentTrace } from '../tracing/traced.js';
import { LogOutput } from './log-output.js';
import { currentRequest } from './request-context.js';

/**
 * The process's logger: one JSON object a line, or readable lines on a terminal.
 *
 * @param terminal - standard output, or standard error where the output is the result of a command
 * @param output - where the lines go
 */
export async function createLogger(
  { LOG_LEVEL, LOG_FORMAT }: Configuration,
  terminal: NodeJS.WriteStream & { fd: number } = process.stdout,
  output: DestinationStream = new LogOutput(terminal.fd),
): Promise<Logger> {
  const options = {
    level: LOG_LEVEL,
    base: { service: SERVICE_NAME },
    timestamp: () => `,"time":"${isoText(Date.now())}"`,
    formatters: { level: (level: string) => ({ level }) },
    mixin: () => ({ requestId: currentRequest()?.request.id, ...currentTrace() }),
    serializers: { err: describeError },
  };
  if (LOG_FORMAT === 'json' || (LOG_FORMAT === 'auto' && !terminal.isTTY)) {
    return pino(options, output);
  }
  const { PinoPretty } = await import('pino-pretty');
  const messageFormat = '{if context}{context}: {end}{msg}';
  const layout = { ignore: 'service,context', messageFormat, translateTime: 'SYS:HH:MM:ss.l', singleLine: true };
  const destination = new Writable({
    decodeStrings: false,
    write: (lines: string, _encoding, done) => {
      output.write(lines);
      done();
    },
  });
  return pino(options, PinoPretty({ ...layout, destination }));
}
