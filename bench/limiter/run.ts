import { print } from '../print.ts';
import { measureBadTokens } from './bad-tokens.ts';
import { measureCaches } from './caches.ts';
import { measureInProcess } from './in-process.ts';
import { measureInRedis } from './in-redis.ts';

const promises = { ...(await measureCaches()), ...(await measureInProcess()) };
await measureInRedis();
Object.assign(promises, await measureBadTokens());

for (const [promise, kept] of Object.entries(promises)) {
  print(`${kept ? 'kept' : 'NOT kept'}: ${promise}`);
}
process.exitCode = Object.values(promises).every(Boolean) ? 0 : 1;
