import { isDecodable } from '../http/percent-encoding.js';

export type RedisLocation = NonNullable<ReturnType<typeof parseRedisUrl>>;

const URL_PATTERN =
  /^redis(?<tls>s?)(?:\+(?<kind>sentinel|cluster))?:\/\/(?:(?<username>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^/?#@]+)(?:\/(?<path>[^?#]*))?(?:\?sentinelPassword=(?<sentinelPassword>[^#&]+))?$/;

const NODE_PATTERN = /^(?:\[(?<address>[0-9A-Fa-f:.]+)\]|(?<name>[A-Za-z0-9._-]+))(?::(?<port>[0-9]{1,5}))?$/;

/** Allowed paths: a database; a master name and a database; or none. */
const PATH_PATTERNS = {
  single: /^(?<database>[0-9]{0,4})$/,
  sentinel: /^(?<masterName>[A-Za-z0-9._-]+)(?:\/(?<database>[0-9]{1,4}))?$/,
  cluster: /^(?<database>0?)$/,
};

/**
 * Parses `redis://user:password@host:6379/0`, `redis+sentinel://host:26379,host:26379/master-name/0` (optionally with
 * `?sentinelPassword=`), or `redis+cluster://host:6379,host:6379`; with TLS `rediss`. Credentials are percent-encoded.
 *
 * @returns undefined for an invalid URL; `nodes` are the Sentinels, or some nodes of the cluster
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
  // Empty parts count as absent.
  const [username, password, sentinelPassword] = credentials.map((part) => (part ? decodeURIComponent(part) : undefined));
  const { masterName, database = 0 } = path;
  const tls = parts['tls'] === 's';
  return { kind, nodes, tls, username, password, sentinelPassword, masterName, database: Number(database) };
}
