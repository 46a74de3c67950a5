import { isDecodable } from '../http/percent-encoding.js';

/**
 * Names and values as OpenTelemetry writes them into one variable: `name=value,name=value`, values percent-encoded where need be.
 *
 * @returns undefined for any other text
 */
export function parseKeyValues(text: string): Readonly<Record<string, string>> | undefined {
  const pairs = text
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .map((pair) => /^([\w.!#$&'*+^`|~/-]+)\s*=\s*(.*)$/s.exec(pair));
  const entries = pairs.flatMap((pair) =>
    pair && isDecodable(pair[2] ?? '') ? [[pair[1], decodeURIComponent(pair[2] ?? '')]] : [],
  );
  return entries.length === pairs.length ? (Object.fromEntries(entries) as Record<string, string>) : undefined;
}
