import express, { type Express } from 'express';
import { parseQueryString } from './query-string.js';

/**
 * Express with one URL for each resource, no responses that depend on conditional headers, and parameters that are plain text.
 *
 * @param trustedProxies - addresses and networks whose `X-Forwarded-For` is believed
 */
export function createExpress(trustedProxies: readonly string[]): Express {
  return express()
    .enable('case sensitive routing')
    .enable('strict routing')
    .disable('x-powered-by')
    .disable('etag')
    .set('query parser', parseQueryString)
    .set('trust proxy', trustedProxies);
}
