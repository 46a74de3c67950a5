/** What the run tells a server, by the names that the service itself uses. */
const { PORT, DATABASE_URL, DATABASE_POOL_SIZE, RATE_LIMIT, RATE_LIMIT_WINDOW } = process.env;

export const settings = {
  port: Number(PORT),
  databaseUrl: DATABASE_URL,
  poolSize: Number(DATABASE_POOL_SIZE),
  limit: Number(RATE_LIMIT),
  /** Seconds. */
  window: Number(RATE_LIMIT_WINDOW),
};
