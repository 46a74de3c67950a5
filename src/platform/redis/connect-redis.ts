import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { SERVICE_NAME } from '../config/service-name.js';
import { within } from '../time/within.js';
import type { RedisLocation } from './redis-url.js';

/** A connection to one Redis, or the connections to all nodes of a cluster. */
export type RedisConnection = Redis | Cluster;

/**
 * Connects to Redis. The connection lives until it first breaks: it neither reconnects nor keeps commands for later, so
 * that whoever uses it knows at once.
 *
 * @param timeout - milliseconds until it must be ready for commands
 * @throws Error when it is not, with what Redis or the network said as its cause
 */
export async function connectRedis(location: RedisLocation, timeout: number): Promise<RedisConnection> {
  const connection = open(location, timeout);
  let reason: unknown;
  connection.on('error', (error: unknown) => {
    reason = error;
  });
  try {
    await within(timeout, ready(connection));
    if (reason !== undefined) {
      // ioredis goes on when there is no such database, with another one.
      throw connectionFailed(reason);
    }
    return connection;
  } catch (error) {
    connection.disconnect();
    // ioredis itself says no more than that the connection is closed.
    throw connectionFailed(reason ?? error);
  }
}

async function ready(connection: RedisConnection): Promise<void> {
  await connection.connect();
  if (connection instanceof Cluster) {
    await Promise.all(connection.nodes('master').map(isServing));
  }
}

/**
 * Nodes of a cluster learn one after the other that it is whole again, which takes seconds: whoever counted on the first of
 * them would not know what others have to report to the last. This also makes the connections to all nodes, which would be
 * made with the first commands otherwise.
 */
async function isServing(node: Redis): Promise<void> {
  const info = await node.cluster('INFO');
  if (!info.includes('cluster_state:ok')) {
    throw new Error(`The node at ${node.options.host}:${node.options.port} does not find the cluster whole.`);
  }
}

/** Redis repeats the arguments of a command that it does not know: where AUTH is renamed or missing, the password. */
const ARGUMENTS = /(?<=with args beginning with: ).*/g;

function connectionFailed(cause: unknown): Error {
  if (Error.isError(cause)) {
    cause.message = cause.message.replaceAll(ARGUMENTS, '***');
    cause.stack = (cause.stack ?? '').replaceAll(ARGUMENTS, '***');
  }
  return new Error('No connection to Redis.', { cause });
}

const never = () => null;

function open(location: RedisLocation, timeout: number): RedisConnection {
  const { kind, nodes, tls, username, password, sentinelPassword, masterName, database } = location;
  const once = { lazyConnect: true, enableOfflineQueue: false };
  const server: RedisOptions = {
    ...once,
    connectTimeout: timeout,
    connectionName: SERVICE_NAME,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: never,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(tls && { tls: {} }),
  };
  if (kind === 'cluster') {
    const options: ClusterOptions = {
      ...once,
      redisOptions: server,
      clusterRetryStrategy: never,
      // It would ask one node alone, and never say that it failed.
      enableReadyCheck: false,
      slotsRefreshTimeout: timeout,
      // The certificates of managed clusters are for names, which look-ups would turn into addresses.
      ...(tls && { dnsLookup: (address, callback) => callback(null, address) }),
    };
    return new Cluster([...nodes], options);
  }
  const [node] = nodes;
  if (kind === 'single' && node) {
    return new Redis({ ...server, ...node, db: database });
  }
  // One that is silent must leave time for the others, and not always come first.
  const patience = Math.floor(timeout / (nodes.length + 1));
  return new Redis({
    ...server,
    connectTimeout: patience,
    sentinels: nodes.toSorted(() => Math.random() - 0.5),
    name: masterName ?? '',
    db: database,
    sentinelRetryStrategy: never,
    sentinelCommandTimeout: patience,
    ...(sentinelPassword !== undefined && { sentinelPassword }),
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  });
}
