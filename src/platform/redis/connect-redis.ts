import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { SERVICE_NAME } from '../config/configuration.js';
import type { RedisLocation } from './redis-url.js';

export type RedisConnection = Redis | Cluster;

/** Milliseconds: between two connection attempts, for an attempt, and until a connection without a response is replaced. */
const TIMES = { retry: 250, connect: 500, response: 1000 };

const retry = () => TIMES.retry;

/** Creates a client, which `connect()` starts and ioredis reconnects. While it is disconnected, commands fail at once without retry. */
export function createRedis(location: RedisLocation): RedisConnection {
  const { kind, nodes, tls, username, password, sentinelPassword, masterName, database } = location;
  const server: RedisOptions = {
    lazyConnect: true,
    enableOfflineQueue: false,
    connectTimeout: TIMES.connect,
    socketTimeout: TIMES.response,
    connectionName: SERVICE_NAME,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: retry,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: {} }),
  };
  if (kind === 'cluster') {
    return new Cluster([...nodes], {
      lazyConnect: true,
      enableOfflineQueue: false,
      redisOptions: server,
      clusterRetryStrategy: retry,
      retryDelayOnClusterDown: 0,
      retryDelayOnFailover: 0,
      slotsRefreshTimeout: TIMES.connect,
      // Certificates of managed clusters contain host names, which a look-up would replace by addresses.
      ...(tls && { dnsLookup: (address, callback) => callback(null, address) }),
    });
  }
  if (kind === 'single') {
    return new Redis({ ...server, ...nodes[0], db: database });
  }
  return new Redis({
    ...server,
    sentinels: [...nodes],
    name: masterName ?? '',
    db: database,
    sentinelRetryStrategy: retry,
    sentinelCommandTimeout: TIMES.connect,
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  });
}
