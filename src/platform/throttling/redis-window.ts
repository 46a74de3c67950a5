import { lookup } from 'node:dns/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Cluster, Redis, type RedisOptions as AllOptions, type Result } from 'ioredis';
import { SERVICE_NAME } from '../service/service.js';
import { PasswordFile } from '../config/password-file.js';
import { Sentinels } from './sentinels.js';
import type { WindowState } from './sliding-window.js';
import type { RedisLocation } from '../config/redis-url.js';

export type RedisConnection = Redis | Cluster;

/** Without `replyMapping`, from which ioredis derives types of replies. */
type RedisOptions = Omit<AllOptions, 'replyMapping'>;

/** Milliseconds: between attempts to connect, for one, without a response, and between commands on an idle connection. */
const TIMES = { retry: 250, connect: 500, response: 1000, idle: 15_000 };

/** Turns off retries of ioredis, which would look up names again while earlier look-ups have no response. */
const never = () => null;

/**
 * Creates a client, which `connect()` starts. While it is disconnected, commands fail at once without retry; those to a
 * cluster wait while it connects to the node, which the first command to each node starts.
 */
export function createRedis({ kind, nodes, tls, options }: RedisLocation, passwordPath?: string): RedisConnection {
  const passwords = passwordPath === undefined ? undefined : new PasswordFile('REDIS_PASSWORD_FILE', passwordPath);
  const server: RedisOptions = {
    // The script needs nothing of RESP3, whose HELLO a proxy may not know.
    protocol: 2,
    lazyConnect: true,
    enableOfflineQueue: false,
    connectTimeout: TIMES.connect,
    socketTimeout: TIMES.response,
    // Otherwise the time that Redis estimates for loading its data, in which it can be wrong by seconds.
    maxLoadingRetryTime: TIMES.retry,
    connectionName: SERVICE_NAME,
    retryStrategy: never,
    // A server that became a replica keeps its connections: a new one reaches its successor once the address points to it.
    reconnectOnError: ({ message }) => message.includes('READONLY'),
    ...options,
    ...(tls && { tls: {} }),
  };
  if (kind === 'cluster') {
    return createCluster(nodes, server).on('+node', (node: Redis) => readPassword(node, passwords));
  }
  const sentinels: RedisOptions = {
    sentinels: nodes,
    Connector: Sentinels as AllOptions['Connector'],
    sentinelRetryStrategy: never,
    sentinelCommandTimeout: TIMES.connect,
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
  };
  const connection = new Redis({ ...server, ...(kind === 'single' ? nodes[0] : sentinels) });
  readPassword(connection, passwords);
  // Disconnects if the database cannot be selected: ioredis would go on in database 0.
  return connection.on('error', ({ command }: Error & { command?: { name: string } }) => {
    if (command?.name === 'select') {
      connection.disconnect();
    }
  });
}

function createCluster(nodes: RedisLocation['nodes'], redisOptions: RedisOptions): Cluster {
  return new Cluster(nodes, {
    lazyConnect: true,
    redisOptions,
    clusterRetryStrategy: never,
    retryDelayOnClusterDown: 0,
    retryDelayOnFailover: 0,
    slotsRefreshTimeout: TIMES.connect,
    // Leaves names to the connections: certificates contain them, and ioredis fails if it cannot look up all of them.
    dnsLookup: (address, callback) => callback(null, address),
  }).on('+node', (node: Redis) => {
    // ioredis leaves a failure of ASKING unhandled, which would end the process. The command after it fails, too.
    const ask = node.asking.bind(node);
    node.asking = () => ask(() => undefined);
  });
}

/** Makes a client, and those made from its options, read the password for each connection: ioredis takes no function. */
function readPassword({ options }: Redis, passwords: PasswordFile | undefined): void {
  const get = () => {
    try {
      return passwords?.read();
    } catch {
      // `PasswordFile` has logged it. If this threw, the client would wait forever; Redis refuses one without a password.
      return undefined;
    }
  };
  if (passwords) {
    Object.defineProperty(options, 'password', { get, enumerable: true });
  }
}

/** Look-ups without a response yet, by name. */
const lookUps = new Map<string, Promise<unknown>>();

function lookUp({ host }: RedisLocation['nodes'][number]): Promise<unknown> {
  return lookUps.getOrInsertComputed(host, () => lookup(host).finally(() => lookUps.delete(host)));
}

/**
 * Keeps the connection in use, and connects again after each end, until the signal aborts. Looks up the names of the nodes
 * before, each name once at a time: while a DNS server does not respond, each look-up occupies a thread that the database
 * needs for its own, long after the attempt to connect has timed out.
 */
export function keepConnected(connection: RedisConnection, { nodes }: RedisLocation, signal: AbortSignal): void {
  const reconnect = async () => {
    await delay(TIMES.retry, undefined, { signal, ref: false });
    // A name that does not exist is reported by the connection.
    await Promise.any(nodes.map(lookUp)).catch(() => undefined);
    signal.throwIfAborted();
    await connection.connect();
  };
  const idle = setInterval(() => void connection.time().catch(() => undefined), TIMES.idle).unref();
  signal.addEventListener('abort', () => clearInterval(idle));
  // A failed attempt ends the connection again.
  connection.on('end', () => void reconnect().catch(() => undefined));
}

/**
 * `KEYS[1]`: a list with the times of the counted calls, oldest first, in microseconds of Redis' clock. `ARGV[1]`: the
 * limit. `ARGV[2]`: length of the window in microseconds. Returns whether the call was counted, the calls left, and the
 * microseconds until a slot is free.
 */
const SCRIPT = `
local key, limit, length = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

-- If the clock was set back, time stands still until the clock has caught up, for at most one window.
local newest = tonumber(redis.call('LINDEX', key, -1) or 0)
if newest > now + length then redis.call('DEL', key) else now = math.max(now, newest) end

local count = redis.call('LLEN', key)
while count > 0 and redis.call('LINDEX', key, 0) + length <= now do
  redis.call('LPOP', key)
  count = count - 1
end

local admitted = count < limit
if admitted then
  redis.call('RPUSH', key, string.format('%.0f', now))
  redis.call('PEXPIRE', key, math.ceil(length / 1000))
  count = count + 1
end
local leaving = redis.call('LINDEX', key, math.max(count - limit, 0)) or now
return { admitted and 1 or 0, math.max(limit - count, 0), leaving + length - now }
`;

/** The rights that a user of Redis needs, as rules of `ACL SETUSER`. */
export function neededRights({ kind }: RedisLocation, keyPrefix: string): string {
  const ofScript = Array.from(SCRIPT.matchAll(/redis\.call\('(\w+)'/g), ([, command = '']) => command.toLowerCase());
  const ofCluster = kind === 'cluster' ? ['cluster|slots', 'cluster|info', 'asking'] : [];
  const ofClient = ['info', 'select', 'eval', 'evalsha', ...ofCluster];
  return [`~${keyPrefix}*`, ...new Set([...ofClient, ...ofScript].map((command) => `+${command}`))].join(' ');
}

declare module 'ioredis' {
  interface RedisCommander<Context> {
    slidingWindow(key: string, limit: number, length: number): Result<[number, number, number], Context>;
  }
}

/** An exact sliding window in Redis, shared by all processes. */
export class RedisWindow {
  constructor(
    readonly connection: RedisConnection,
    private readonly keyPrefix: string,
  ) {
    connection.defineCommand('slidingWindow', { numberOfKeys: 1, lua: SCRIPT });
  }

  get isConnected(): boolean {
    return this.connection.status === 'ready';
  }

  /**
   * @param length - in milliseconds
   * @param suffix - makes another key, which the braces keep in the same slot of a cluster
   */
  async hit(token: string, limit: number, length: number, suffix = ''): Promise<WindowState> {
    const key = `${this.keyOf(token)}${suffix}`;
    const [admitted, remaining, freeIn] = await this.connection.slidingWindow(key, limit, length * 1000);
    return { admitted: admitted === 1, remaining, freeIn: freeIn / 1000 };
  }

  /** Deletes the counted calls. */
  async forget(token: string): Promise<void> {
    await this.connection.del(this.keyOf(token));
  }

  private keyOf(token: string): string {
    return `${this.keyPrefix}rate-limit:{${token}}`;
  }
}
