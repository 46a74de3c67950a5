import { setTimeout as delay } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import { ConfigurationError, readConfiguration } from '../config/read-configuration.js';
import { type Check, failed, needing, ok } from './check.js';
import { nodeCheck } from './configuration/node-check.js';
import { examine, type Report } from './examine.js';
import { PlatformChecks } from './platform-checks.js';
import { teller } from './tell.js';

/** How long connections may take to say goodbye, in milliseconds: who does not answer does not answer to that, either. */
const CLOSE_TIMEOUT = 1000;

/** Makes the application's providers, without a server. */
export type CreateContext = (configuration: Configuration) => Promise<INestApplicationContext>;

/**
 * Looks at the configuration and at all that it leads to.
 *
 * @param environment - usually `process.env`
 */
export async function diagnose(environment: NodeJS.ProcessEnv, createContext: CreateContext): Promise<Report> {
  const { configuration, check } = read(environment);
  const app = await createContext(configuration);
  const platform = new PlatformChecks(app);
  const variables = Object.keys(configuration).flatMap((name) => environment[name] ?? []);
  try {
    const others = platform.all().map((other) => needing([check.name], other));
    return await examine([nodeCheck, check, ...others], teller(variables));
  } finally {
    const closed = Promise.allSettled([platform.close(), app.close()]);
    await Promise.race([closed, delay(CLOSE_TIMEOUT, undefined, { ref: false })]);
  }
}

/** The configuration; the defaults, when it is wrong: then no other check is run, but all can be named. */
function read(environment: NodeJS.ProcessEnv): { configuration: Configuration; check: Check } {
  const name = 'configuration';
  try {
    return { configuration: readConfiguration(environment), check: { name, run: () => ok('valid') } };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) {
      throw error;
    }
    const [, ...faults] = error.message.split('\n');
    const advice = faults.pop() ?? '';
    const found = failed(faults.map((fault) => fault.trim()).join('\n'), advice);
    return { configuration: new Configuration(), check: { name, run: () => found } };
  }
}
