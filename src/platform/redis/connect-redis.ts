import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { SERVICE_NAME } from '../config/configuration.js';
import type { RedisLocation } from './redis-url.js';

/** A connection to one Redis, or the connections to all nodes of a cluster. */
export type RedisConnection = Redis | Cluster;

/** Milliseconds between attempts to connect. */
const retry = () => 250;

/** Milliseconds until the connection must be made. */
const CONNECT_TIMEOUT = 500;

/** Milliseconds after which a connection that gives no response is replaced. */
const SOCKET_TIMEOUT = 1000;

/**
 * A connection to Redis, which `connect()` begins and ioredis makes again whenever it is lost. Commands fail at once while there is
 * none, and are not sent again.
 */
export function createRedis(location: RedisLocation): RedisConnection {
  const { kind, nodes, tls, username, password, sentinelPassword, masterName, database } = location;
  const server: RedisOptions = {
    lazyConnect: true,
    enableOfflineQueue: false,
    connectTimeout: CONNECT_TIMEOUT,
    socketTimeout: SOCKET_TIMEOUT,
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
      slotsRefreshTimeout: CONNECT_TIMEOUT,
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
    sentinelCommandTimeout: CONNECT_TIMEOUT,
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  });
}
