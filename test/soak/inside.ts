/** Loaded into each instance before the service, which is as shipped: tells the test what only the process can see. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

process.on('message', () => {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ heap: heapUsed + external, resources: process.getActiveResourcesInfo() });
});
// The service must end as without it.
process.channel?.unref();
