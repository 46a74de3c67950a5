/** Any free ports, a limit that is not in the way, and no wait for load balancers. */
export const serverDefaults = { PORT: '0', METRICS_PORT: '0', RATE_LIMIT: '1000000', SHUTDOWN_DELAY: '0' };
