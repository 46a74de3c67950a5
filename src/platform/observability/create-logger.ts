import { type DestinationStream, type Logger, pino } from 'pino';
import { type Configuration, SERVICE_NAME } from '../config/configuration.js';
import { currentRequest } from '../http/request-context.js';
import { isoText } from '../time/iso-text.js';
import { currentTrace } from '../tracing/traced.js';
import { describeError } from './describe-error.js';
import { LogOutput } from './log-output.js';

/**
 * The process's logger: one JSON object a line, or readable lines on a terminal.
 *
 * @param terminal - standard output, or standard error where the output is the result of a command
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
  const { prettyFactory } = await import('pino-pretty');
  const ignore = 'service,context,method,path,status,durationMs';
  const format = prettyFactory({ ignore, messageFormat, translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
  return pino(options, { write: (line) => output.write(format(line)) });
}

/** Of a request, `GET /v1/items 200 3 ms`; pino-pretty puts its other fields behind. */
function messageFormat({ context, method, path, msg, status, durationMs }: Record<string, unknown>): string {
  const time = typeof durationMs === 'number' ? `${Math.round(durationMs)} ms` : undefined;
  const origin = typeof context === 'string' ? `${context}:` : undefined;
  const parts = [origin, method, path, msg === 'request' ? undefined : msg, status, time];
  return parts.filter((part) => typeof part === 'string' || typeof part === 'number').join(' ');
}
