/** What a newcomer needs after the first start; `create` and `list` are commands for a shell. */
export interface Quickstart {
  address: string;
  /** Address of the API console; missing without `API_DOCS`. */
  console?: string;
  token: string;
  /** Missing if no operation creates, or lists, without parameters in its path. */
  create?: string;
  list?: string;
}

/** Makes readable text of pino's lines. */
export async function terminalFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  const ignore = 'service,context,method,path,status,durationMs,name,quickstart,pid,hostname,timestamp,caller';
  return prettyFactory({ ignore, messageFormat, translateTime: 'SYS:HH:MM:ss.l', singleLine: true });
}

/** The message of a line, such as `GET /v1/items 200 3 ms`. pino-pretty appends the remaining fields. */
function messageFormat(line: Record<string, unknown>): string {
  const { context, method, path, msg, status, durationMs, name, quickstart } = line;
  if (quickstart) {
    return quickstartBlock(quickstart as Quickstart);
  }
  const time = typeof durationMs === 'number' ? `${Math.round(durationMs)} ms` : durationMs;
  const origin = typeof context === 'string' ? `${context}:` : undefined;
  const text = origin === undefined && msg === 'request' ? undefined : msg;
  // pino-pretty treats these as fields of pino, and leaves them out.
  const others = Object.entries(line).filter(([key]) => /^(?:pid|hostname|timestamp|caller)$/.test(key));
  const rest = others.length > 0 ? Object.fromEntries(others) : undefined;
  const parts = [origin, method, path, text, status, time, name, rest];
  return parts.flatMap((part) => (part === undefined ? [] : textOf(part))).join(' ');
}

function quickstartBlock({ address, console: page, token, create, list }: Quickstart): string {
  const consoleLine = page === undefined ? '' : `\n  Console   ${page}`;
  const calls = Object.entries({ Create: create, List: list }).filter(([, call]) => call !== undefined);
  return `The service is ready.

  Address   ${address}${consoleLine}
  Token     ${token}
            This token is shown only once.
${calls.map(([title, call]) => `\n  ${title}:\n    ${call}\n`).join('')}`;
}

/** A text as it is, all else in JSON. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || value === undefined ? String(value) : JSON.stringify(value);
}
