import type { IncomingHttpHeaders } from 'node:http';
import { MIMEType } from 'node:util';

/** The media type of a body without its parameters, in lower case. */
export function mediaTypeOf({ 'content-type': given = '' }: IncomingHttpHeaders): string {
  const [type = ''] = given.toLowerCase().split(';');
  return type.trim();
}

/** Whether a body has a coding, of the content or of the transfer, that changes it. */
export function isCompressed(headers: IncomingHttpHeaders): boolean {
  const { 'content-encoding': content = '', 'transfer-encoding': transfer = 'chunked' } = headers;
  return !/^\s*(?:identity\s*)?$/i.test(content) || !/^\s*chunked\s*$/i.test(transfer);
}

/** The charset that a media type names, by default UTF-8; empty if the type is not valid. */
export function charsetOf(mediaType: string): string {
  try {
    // Most name none, and need not be parsed.
    return (/charset/i.test(mediaType) && new MIMEType(mediaType).params.get('charset')) || 'utf-8';
  } catch {
    return '';
  }
}
