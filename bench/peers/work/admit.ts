import type { IncomingMessage } from 'node:http';
import { type Problem, rateLimited, unauthorized } from './problems.ts';
import { settings } from './settings.ts';
import { tokenIdOf } from './tokens.ts';
import { hit } from './window.ts';

const { limit, window } = settings;

export interface Admission {
  /** Of the answer, whatever it is. */
  readonly headers: Readonly<Record<string, string>>;
  /** The answer, if the request is not let in. */
  readonly refusal?: Problem;
}

/** Lets in a request with a valid token that has not used up its requests. */
export async function admit({ headers: { authorization }, socket }: IncomingMessage): Promise<Admission> {
  const tokenId = await tokenIdOf(authorization, socket.remoteAddress ?? '');
  if (tokenId === undefined) {
    return { headers: {}, refusal: unauthorized(authorization !== undefined) };
  }
  const { isAdmitted, remaining, reset } = hit(tokenId);
  const headers = {
    'RateLimit-Policy': `"default";q=${limit};w=${window}`,
    RateLimit: `"default";r=${remaining};t=${reset}`,
  };
  return isAdmitted ? { headers } : { headers, refusal: rateLimited(limit, window, Math.max(1, reset)) };
}
