import { connectRedis } from '#service/platform/redis/connect-redis';
import { parseRedisUrl, type RedisLocation } from '#service/platform/redis/redis-url';
import { RedisWindow } from '#service/platform/throttling/redis-window';
import { printTable } from '../print.ts';
import { inParts } from '../progress.ts';
import { RedisServer } from '../replicas/redis.ts';
import { LIMIT } from './contenders.ts';
import { newKey } from './keys.ts';

const TOKENS = 100_000;
const PART = 500;
const CHECKS = 50_000;
const AT_ONCE = 50;
const LENGTH = 3_600_000;

/** What a check costs, and what a token, in Redis. */
export async function measureInRedis(): Promise<void> {
  const redis = await RedisServer.start();
  try {
    const connection = await connectRedis(locationOf(redis), 1000);
    const window = new RedisWindow(connection, 'bench:', LIMIT, LENGTH);
    const info = async (name: string) => Number(new RegExp(`^${name}:(.*)`, 'm').exec(await connection.info())?.[1]);
    const processor = async () => (await info('used_cpu_user')) + (await info('used_cpu_sys'));

    const empty = await info('used_memory');
    const keys = Array.from({ length: TOKENS }, newKey);
    const ages = Array.from({ length: LIMIT }, (_, index) => index * 10);
    await inParts('tokens in Redis', TOKENS, PART, async (first, last) => {
      await Promise.all(keys.slice(first - 1, last).map((key) => window.report(key, { stamps: [], ages })));
    });
    const bytes = ((await info('used_memory')) - empty) / TOKENS;

    const checked = Array.from({ length: CHECKS / LIMIT }, newKey);
    const [own, theirs] = [process.cpuUsage(), await processor()];
    let left = CHECKS;
    const work = async () => {
      while (left > 0) {
        left -= 1;
        await window.hit(checked[left % checked.length] ?? '');
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    const { user, system } = process.cpuUsage(own);
    const inRedis = ((await processor()) - theirs) * 1e6;
    window.close();
    printTable(
      ['window in Redis', 'check µs, process', 'check µs, Redis', 'bytes in Redis'],
      [[`${AT_ONCE} at once`, ((user + system) / CHECKS).toFixed(1), (inRedis / CHECKS).toFixed(1), bytes.toFixed(0)]],
    );
  } finally {
    await redis.stop();
  }
}

function locationOf({ url }: RedisServer): RedisLocation {
  const location = parseRedisUrl(url);
  if (!location) {
    throw new Error(`${url} leads to no Redis.`);
  }
  return location;
}
