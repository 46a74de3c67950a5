/** Connections to PostgreSQL that each server holds at most: the service's default. */
export const POOL_SIZE = 10;

/** Connections and threads of the client. */
export const CONNECTIONS = 32;
export const THREADS = 1;

/** Tokens that take turns. */
export const TOKENS = 200;

/** Rows in the table; one was created each second. */
export const ITEMS = 20_000;

/** Rows before the deep page. */
export const DEPTH = 10_000;

/** A limit that is in nobody's way, and one that is used up before the measurement and for all of it. */
export const AMPLE = { RATE_LIMIT: '1000000', RATE_LIMIT_WINDOW: '60' };
export const TIGHT = { RATE_LIMIT: '10', RATE_LIMIT_WINDOW: '3600' };
