import type { Configuration } from '../../config/configuration.js';
import { parseRedisUrl } from '../../redis/redis-url.js';
import { partOf } from '../../throttling/shared-limiter.js';
import { type Check, failed, type Finding, needing, ok, skipped, warning } from '../check.js';
import { type Advice, adviceOn } from '../network-advice.js';
import { LimiterStore } from './limiter-store.js';
import { memoryCheck, versionCheck } from './redis-info.js';
import { scriptCheck } from './script.js';

/** What to do about Redis, by what it says. */
const ADVICE: Advice = [
  [/WRONGPASS|NOAUTH|invalid password|without any password/, 'Correct the user and the password in REDIS_URL, percent-encoded.'],
  [/NOPERM/, 'Let the user connect: ACL SETUSER … +client|setname +info, and select, if the URL names a database.'],
  [/DB index|SELECT is not allowed/, 'Correct the number of the database in REDIS_URL.'],
  [/sentinel/i, 'Look at the Sentinels, and at the name of the master in REDIS_URL.'],
  [/CLUSTERDOWN|find the cluster whole|slots cache/, 'Look at CLUSTER INFO: some slots have no node.'],
  [/LOADING/, 'Wait until it has loaded its data.'],
];

/** Those that mean nothing without Redis. */
const OTHERS = ['limiter.version', 'limiter.memory', 'limiter.script'];

/** Redis, where all replicas count requests together. */
export class LimiterChecks {
  private readonly store: LimiterStore | undefined;

  constructor(private readonly configuration: Configuration) {
    const location = parseRedisUrl(configuration.REDIS_URL ?? '');
    this.store = location && new LimiterStore(location);
  }

  all(): Check[] {
    const { store, configuration } = this;
    const connection: Check = { name: 'limiter.connection', run: () => (store ? connected(store) : uncounted(configuration)) };
    const others = store
      ? [versionCheck(store), memoryCheck(store), scriptCheck(store, configuration)]
      : OTHERS.map((name) => ({ name, run: () => skipped('REDIS_URL is unset') }));
    return [connection, ...others.map((check) => needing([connection.name], check))];
  }

  async close(): Promise<void> {
    await this.store?.close();
  }
}

async function connected(store: LimiterStore): Promise<Finding> {
  try {
    const nodes = await store.nodes();
    return ok(nodes.length === 1 ? 'connected' : `connected to ${nodes.length} nodes`);
  } catch (error) {
    const { found, mend } = adviceOn(error, ADVICE, 'Look at REDIS_URL, the network and the log of Redis.');
    return failed(`${found} Meanwhile, each process counts for itself`, mend);
  }
}

/** Without Redis. */
function uncounted({ RATE_LIMIT_REPLICAS: replicas, RATE_LIMIT }: Configuration): Finding {
  return replicas === 1
    ? skipped('REDIS_URL is unset: each process counts for itself')
    : warning(
        `REDIS_URL is unset: each of the ${replicas} replicas admits ${partOf(RATE_LIMIT, replicas)} of ${RATE_LIMIT} requests, however the load balancer spreads them`,
        'Set REDIS_URL, so that they count together.',
      );
}
