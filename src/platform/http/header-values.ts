import type { IncomingMessage } from 'node:http';

/**
 * The values of a header as they were sent, one for each time that it was. Node's own `headersDistinct` makes a list of each header
 * for that.
 *
 * @param name - in lower case
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let place = 0; place < rawHeaders.length; place += 2) {
    const other = rawHeaders[place] ?? '';
    if (other.length === name.length && other.toLowerCase() === name) {
      values.push(rawHeaders[place + 1] ?? '');
    }
  }
  return values;
}
