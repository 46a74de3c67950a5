import type { Response } from 'express';

/** Whether a response is one of `@Sse()` that has begun. */
export function isEventStream(response: Response): boolean {
  return response.headersSent && /^text\/event-stream\b/.test(String(response.getHeader('Content-Type')));
}

/** Ends the streams of `@Sse()`, whose clients connect again, to another instance. @param pending - by connection */
export function endEventStreams(pending: Iterable<Iterable<Response>>): void {
  for (const responses of pending) {
    for (const response of responses) {
      if (!response.writableEnded && isEventStream(response)) {
        // An event that comes now is not sent.
        response.on('error', () => undefined).end(() => response.socket?.destroySoon());
      }
    }
  }
}
