import express, { type Express } from 'express';
import { parseQueryString } from './query-string.js';

/** Express with one URL for each resource, no answers that depend on headers nobody sent, and parameters that are plain text. */
export function createExpress(): Express {
  return express()
    .enable('case sensitive routing')
    .enable('strict routing')
    .disable('x-powered-by')
    .disable('etag')
    .set('query parser', parseQueryString);
}
