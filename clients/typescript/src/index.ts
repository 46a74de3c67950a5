export * from './generated/index.js';
export { type Client, createItemsClient, type ItemsClientOptions } from './items-client.js';
export { ProblemError } from './problem-error.js';
export type { RetryOptions } from './retrying-fetch.js';
export { type ElementOf, type List, walk } from './walk.js';
