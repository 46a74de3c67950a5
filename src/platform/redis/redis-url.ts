import { isDecodable } from '../http/percent-encoding.js';

/** Where Redis is, and the credentials for it. */
export type RedisLocation = NonNullable<ReturnType<typeof parseRedisUrl>>;

const URL_PATTERN =
  /^redis(?<tls>s?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<username>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^/?#@]+)(?:\/(?<path>[^?#]*))?(?:\?sentinelPassword=(?<sentinelPassword>[^#&]+))?$/;

const NODE_PATTERN = /^(?:\[(?<address>[0-9A-Fa-f:.]+)\]|(?<name>[A-Za-z0-9._-]+))(?::(?<port>[0-9]{1,5}))?$/;

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
 * @returns undefined when it is not such a URL; otherwise nodes (Sentinels, or some of the cluster) and user and password of Redis
 */
export function parseRedisUrl(text: string) {
  const parts = URL_PATTERN.exec(text)?.groups;
  const kind = (parts?.['kind'] ?? 'single') as keyof typeof PATH_PATTERNS;
  const path = PATH_PATTERNS[kind].exec(parts?.['path'] ?? '')?.groups;
  const credentials = [parts?.['username'], parts?.['password'], parts?.['sentinelPassword']];
  if (!parts || !path || !credentials.every((part) => part === undefined || isDecodable(part))) {
    return undefined;
  }
  const nodes = (parts['hosts'] ?? '').split(',').map((node) => {
    const { address, name, port = kind === 'sentinel' ? '26379' : '6379' } = NODE_PATTERN.exec(node)?.groups ?? {};
    return { host: address ?? name ?? '', port: Number(port) };
  });
  const areNodes = nodes.every(({ host, port }) => host !== '' && port >= 1 && port <= 65_535);
  if (!areNodes || (kind === 'single' && nodes.length > 1) || (kind !== 'sentinel' && parts['sentinelPassword'] !== undefined)) {
    return undefined;
  }
  // An empty part counts as left out.
  const [username, password, sentinelPassword] = credentials.map((part) => (part ? decodeURIComponent(part) : undefined));
  const { masterName, database = 0 } = path;
  const tls = parts['tls'] === 's';
  return { kind, nodes, tls, username, password, sentinelPassword, masterName, database: Number(database) };
}
