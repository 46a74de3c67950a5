import type { Response } from 'express';

/**
 * Ends an answer with some JSON, its head and body as one text. By itself Express parses the media type, looks up its character
 * set, and makes a buffer of each body.
 *
 * @param mediaType - unless the answer has one already
 */
export function sendJson(response: Response, json: string, mediaType = 'application/json'): Response {
  if (!response.hasHeader('Content-Type')) {
    response.setHeader('Content-Type', `${mediaType}; charset=utf-8`);
  }
  const length = Buffer.byteLength(json);
  response.setHeader('Content-Length', length);
  // A text that is all ASCII need not be encoded.
  return response.end(json, length === json.length ? 'latin1' : 'utf8');
}
