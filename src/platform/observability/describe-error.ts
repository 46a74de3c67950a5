import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { hideCredentials } from '../auth/hide-credentials.js';

/** What the log says of an error. */
export interface ErrorDescription {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  cause?: ErrorDescription;
  /** Those of an `AggregateError`: one for each address that was tried, for example. */
  errors?: ErrorDescription[];
}

const sourceMaps = new Map<string, SourceMap>();

/**
 * Describes an error without its other properties: those of databases hold rows and parameters, those of Redis arguments of commands.
 *
 * @param above - errors that this one is a cause of: one that is its own cause has no end
 */
export function describeError(error: unknown, above: readonly unknown[] = []): ErrorDescription {
  if (!Error.isError(error)) {
    const isObject = Object(error) === error;
    return { type: typeof error, message: isObject ? Object.prototype.toString.call(error) : hideCredentials(String(error)) };
  }
  const { name, message, stack, cause } = error;
  const within = [...above, error];
  const errors = error instanceof AggregateError ? error.errors.filter((each) => !within.includes(each)) : [];
  return {
    type: name,
    message: withoutSecrets(message),
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    ...(stack !== undefined && { stack: withSources(withoutSecrets(stack)) }),
    ...(cause !== undefined && !within.includes(cause) && { cause: describeError(cause, within) }),
    ...(errors.length > 0 && { errors: errors.map((each) => describeError(each, within)) }),
  };
}

/** The message of an error and that of its cause, in one line. */
export function reasonOf(error: unknown): string {
  const { message, cause } = describeError(error);
  return cause ? `${message} ${cause.message || (cause.errors?.[0]?.message ?? '')}` : message;
}

/** Redis repeats the arguments of a command that it does not know: the password, where AUTH is renamed or missing. */
function withoutSecrets(text: string): string {
  return hideCredentials(text).replaceAll(/(?<=with args beginning with: ).*/g, '***');
}

/**
 * A stack that names our source files, `src/start.ts:12:3`, in place of the files of the bundle. Their source maps are read when
 * the first error needs them: enabled in Node they would cost every start, and would take code of packages for ours.
 */
function withSources(stack: string): string {
  return stack.replaceAll(
    /file:\S+\/([\w-]+\.js):(\d+):(\d+)/g,
    (position: string, file: string, line: string, column: string) => {
      const entry = sourceMapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1);
      // Code of a package has no entry in its line.
      return entry && 'originalLine' in entry && entry.generatedLine === Number(line) - 1
        ? `${entry.originalSource.replaceAll('../', '')}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
        : position;
    },
  );
}

/** The source map of a file of the bundle, beside which this is. */
function sourceMapOf(file: string): SourceMap | undefined {
  try {
    const text = () => readFileSync(new URL(`${file}.map`, import.meta.url), 'utf8');
    const sourceMap = sourceMaps.get(file) ?? new SourceMap(JSON.parse(text()) as SourceMapPayload);
    sourceMaps.set(file, sourceMap);
    return sourceMap;
  } catch {
    return undefined;
  }
}
