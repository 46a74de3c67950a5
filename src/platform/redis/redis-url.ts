import { isDecodable } from '../http/percent-encoding.js';

/** Where Redis is and how to get in. */
export interface RedisLocation {
  /** `sentinel`: the nodes are those that know the master; `cluster`: the nodes know all others. */
  readonly kind: 'single' | 'sentinel' | 'cluster';
  readonly nodes: readonly RedisNode[];
  readonly tls: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** What Sentinel itself asks for; `password` is that of the master. */
  readonly sentinelPassword: string | undefined;
  /** Name under which Sentinel knows the master. */
  readonly masterName: string | undefined;
  /** Number of the database; a cluster has only 0. */
  readonly database: number;
}

/** One server. */
export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

const URL_PATTERN =
  /^redis(s?)(?:\+(sentinel|cluster))?:\/\/(?:([^:@/]*):([^@/]*)@)?([^/?#@]+)(?:\/([^?#]*))?(?:\?sentinelPassword=([^#&]+))?$/;

/** What may follow the nodes: a database, the name of a master and a database, or nothing. */
const PATH_PATTERNS = {
  single: /^(?<database>[0-9]{0,4})$/,
  sentinel: /^(?<masterName>[A-Za-z0-9._-]+)(?:\/(?<database>[0-9]{1,4}))?$/,
  cluster: /^(?<database>0?)$/,
};

/**
 * Reads a Redis URL: `redis://user:password@host:6379/0`, `redis+sentinel://host:26379,host:26379/master-name/0`, where
 * `?sentinelPassword=` may follow, or `redis+cluster://host:6379,host:6379`; with TLS `rediss`. Credentials are
 * percent-encoded.
 *
 * @returns undefined when it is not such a URL
 */
export function parseRedisUrl(text: string): RedisLocation | undefined {
  const [, tls = '', kind = 'single', user, secret, hosts = '', path = '', sentinelSecret] = URL_PATTERN.exec(text) ?? [];
  if (kind !== 'single' && kind !== 'sentinel' && kind !== 'cluster') {
    return undefined;
  }
  const place = PATH_PATTERNS[kind].exec(path)?.groups;
  const nodes = hosts.split(',').map((node) => parseNode(node, kind === 'sentinel' ? 26_379 : 6379));
  const isOne = kind !== 'single' || nodes.length === 1;
  const isForSentinel = kind === 'sentinel' || sentinelSecret === undefined;
  const isEncoded = [user, secret, sentinelSecret].every((part) => part === undefined || isDecodable(part));
  if (!place || !nodes.every((node) => node !== undefined) || !isOne || !isForSentinel || !isEncoded) {
    return undefined;
  }
  return {
    kind,
    nodes,
    tls: tls === 's',
    username: decode(user),
    password: decode(secret),
    sentinelPassword: decode(sentinelSecret),
    masterName: place['masterName'],
    database: Number(place['database'] ?? 0),
  };
}

function parseNode(text: string, defaultPort: number): RedisNode | undefined {
  const [, address, name, port] = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const host = address ?? name;
  const node = { host: host ?? '', port: port === undefined ? defaultPort : Number(port) };
  return host !== undefined && node.port >= 1 && node.port <= 65_535 ? node : undefined;
}

/** An empty part counts as left out. */
function decode(part: string | undefined): string | undefined {
  return part ? decodeURIComponent(part) : undefined;
}
