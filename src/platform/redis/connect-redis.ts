import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { SERVICE_NAME } from '../config/configuration.js';
import type { RedisLocation } from './redis-url.js';

/** A connection to one Redis, or the connections to all nodes of a cluster. */
export type RedisConnection = Redis | Cluster;

/** In milliseconds: between attempts to connect, until a connection must be made, and until one without a response is replaced. */
const TIMES = { retry: 250, connect: 500, response: 1000 };

const retry = () => TIMES.retry;

/**
 * A connection to Redis, which `connect()` begins and ioredis makes again whenever it is lost. Commands fail at once while there is
 * none, and are not sent again.
 */
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
      // The certificates of managed clusters are for names, which look-ups would turn into addresses.
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
