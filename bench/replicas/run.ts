import { createDatabase } from '../database.ts';
import { migrate } from '../service.ts';
import { measureCosts } from './costs.ts';
import { measureRedisFaults } from './redis-faults.ts';
import { RedisServer } from './redis.ts';
import { measureShares } from './shares.ts';

const { url, drop } = await createDatabase();
const redis = await RedisServer.start();
try {
  await migrate(url);
  await measureCosts(url, redis.url);
  await measureShares(url, redis);
  process.exitCode = (await measureRedisFaults(url, redis)) ? 0 : 1;
} finally {
  await redis.stop();
  await drop();
}
