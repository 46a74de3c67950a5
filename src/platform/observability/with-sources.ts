import { readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';

const maps = new Map<string, SourceMap>();

/**
 * A stack that names our source files, `src/start.ts:12:3`, in place of the files of the bundle. Their source maps are read when
 * the first error needs them: enabled in Node they would cost every start, and every error that is caught.
 */
export function withSources(stack: string): string {
  return stack.replaceAll(/file:\S+\/([\w-]+\.js):(\d+):(\d+)/g, (position: string, file: string, ...numbers: string[]) => {
    const [line = 0, column = 0] = numbers.slice(0, 2).map((text) => Number(text) - 1);
    const entry = mapOf(file)?.findEntry(line, column);
    // What has no entry, the code of a package, gets that of another line.
    if (!entry || !('originalLine' in entry) || entry.generatedLine !== line) {
      return position;
    }
    const { originalSource, originalLine, originalColumn } = entry;
    return `${originalSource.replaceAll('../', '')}:${originalLine + 1}:${originalColumn + 1}`;
  });
}

/** The source map of a file of the bundle, beside which this is. */
function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) {
    try {
      const text = readFileSync(new URL(`${file}.map`, import.meta.url), 'utf8');
      maps.set(file, new SourceMap(JSON.parse(text) as SourceMapPayload));
    } catch {
      return undefined;
    }
  }
  return maps.get(file);
}
