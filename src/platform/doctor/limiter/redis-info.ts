import { type Check, failed, type Finding, ok, skipped, warning } from '../check.js';
import type { LimiterStore } from './limiter-store.js';

/** The oldest Redis that the service is made for. */
const OLDEST_REDIS = [6, 2] as const;

/** Whether Redis is new enough. */
export function versionCheck(store: LimiterStore): Check {
  return infoCheck('limiter.version', store, 'server', (infos) => {
    const versions = [...new Set(infos.map((info) => fieldOf(info, 'redis_version')))];
    const old = versions.filter((version) => !isNewEnough(version));
    return old.length === 0
      ? ok(versions.join(', '))
      : failed(`Redis ${old.join(', ')} is too old`, `Upgrade it to ${OLDEST_REDIS.join('.')} or newer, or to Valkey.`);
  });
}

/** Whether Redis forgets no windows for want of memory. */
export function memoryCheck(store: LimiterStore): Check {
  return infoCheck('limiter.memory', store, 'memory', (infos) => {
    const policies = infos.map((info) => ({
      policy: fieldOf(info, 'maxmemory_policy'),
      most: Number(fieldOf(info, 'maxmemory')),
    }));
    const evicting = policies.find(({ policy, most }) => policy !== 'noeviction' && most > 0);
    const [first] = policies;
    return evicting
      ? warning(
          `maxmemory-policy ${evicting.policy}: when ${evicting.most} bytes are full, limits are forgotten and nobody notices`,
          'CONFIG SET maxmemory-policy noeviction, and keep it in the configuration file.',
        )
      : ok(first?.most === 0 ? 'no maxmemory' : 'maxmemory-policy noeviction');
  });
}

/** @param version - like `7.0.15` */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_REDIS;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

/** Judges what each node says of itself in a section of INFO, where we may ask. */
function infoCheck(name: string, store: LimiterStore, section: string, judge: (infos: readonly string[]) => Finding): Check {
  return {
    name,
    run: async () => {
      const infos = await infosOf(store, section);
      return infos ? judge(infos) : skipped('this user may not ask (INFO)');
    },
  };
}

/** What each node says; undefined where this is not allowed. */
async function infosOf(store: LimiterStore, section: string): Promise<string[] | undefined> {
  const nodes = await store.nodes();
  try {
    return await Promise.all(nodes.map((node) => node.info(section)));
  } catch (error) {
    if (Error.isError(error) && /NOPERM|unknown command/.test(error.message)) {
      return undefined;
    }
    throw error;
  }
}

function fieldOf(info: string, name: string): string {
  const line = info.split('\r\n').find((text) => text.startsWith(`${name}:`));
  return line?.slice(name.length + 1) ?? '';
}
