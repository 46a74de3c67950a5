import { isDecodable } from '../requests/percent-encoding.js';

export type RedisLocation = NonNullable<ReturnType<typeof parseRedisUrl>>;

const FORM = new RegExp(
  /^redis(?<tls>s?)(?:\+(?<kind>sentinel|cluster))?:\/\//.source +
    /(?:(?<username>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[\w.,:[\]-]+)(?<path>.*)$/.source,
);

/** Patterns of the part after the hosts. Their groups, the username and the password are options of ioredis. */
const PATHS = {
  single: /^(?:\/(?<db>[0-9]{0,4}))?$/,
  sentinel: /^\/(?<name>[A-Za-z0-9._-]+)(?:\/(?<db>[0-9]{1,4}))?(?:\?sentinelPassword=(?<sentinelPassword>[^#&]+))?$/,
  cluster: /^(?:\/0?)?$/,
};

/**
 * Parses `redis://user:password@host:6379/0`, `redis+sentinel://host:26379,host:26379/master-name/0` (optionally with
 * `?sentinelPassword=`), or `redis+cluster://host:6379,host:6379`; with TLS `rediss`. Credentials are percent-encoded.
 *
 * @returns undefined for an invalid URL; `nodes` are the Sentinels, or some nodes of the cluster
 */
export function parseRedisUrl(text: string) {
  const { kind: given = 'single', tls, hosts = '', path = '', ...login } = FORM.exec(text)?.groups ?? {};
  const kind = given as keyof typeof PATHS;
  const rest = PATHS[kind].exec(path);
  // Empty parts count as absent.
  const parts = Object.entries({ ...login, ...rest?.groups }).filter(([, part]) => part);
  // A colon without a port is probably followed by a variable that is not set.
  const urls = hosts.split(',').map((host) => (host.endsWith(':') ? null : URL.parse(`redis://${host}`)));
  const nodes = urls.map((url) => ({
    host: url?.hostname.replaceAll(/[[\]]/g, '') ?? '',
    port: Number(url?.port || (kind === 'sentinel' ? 26_379 : 6379)),
  }));
  const areNodes = nodes.every(({ host, port }) => host !== '' && port > 0) && (kind !== 'single' || nodes.length === 1);
  if (!rest || !areNodes || !parts.every(([, part]) => isDecodable(part))) {
    return undefined;
  }
  const options: object = Object.fromEntries(parts.map(([name, part]) => [name, decodeURIComponent(part)]));
  return { kind, nodes, tls: tls === 's', options };
}
