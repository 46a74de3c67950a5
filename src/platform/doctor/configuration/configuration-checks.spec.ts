import { readConfiguration } from '../../config/read-configuration.js';
import { judgeNode } from './node-check.js';
import { timeOutChecks } from './time-outs.js';

/** The findings about some configuration that are not ok, by name. */
async function faultsOf(environment: Record<string, string>): Promise<Record<string, string>> {
  const checks = timeOutChecks(readConfiguration(environment));
  const faults: Record<string, string> = {};
  for (const check of checks) {
    const { status, found, mend } = await check.run();
    if (status !== 'ok') {
      faults[check.name] = `${status}: ${found} ${mend}`;
    }
  }
  return faults;
}

describe('time-outs', () => {
  it('suit each other by default', async () => {
    expect(await faultsOf({})).toEqual({});
  });

  it.each<[Record<string, string>, string, string]>([
    [{ FILTER_TIMEOUT: '4.1' }, 'time-outs.filter', 'Set FILTER_TIMEOUT to DATABASE_STATEMENT_TIMEOUT at most'],
    [{ KEEP_ALIVE_TIMEOUT: '60' }, 'time-outs.keep-alive', 'KEEP_ALIVE_TIMEOUT 60 s'],
    [{ IDEMPOTENCY_TTL: '98.9' }, 'time-outs.idempotency', 'Set IDEMPOTENCY_TTL to 99'],
    // 5 + 4 seconds of the database behind a delay of 5, in nine tenths.
    [{ SHUTDOWN_TIMEOUT: '15.5' }, 'time-outs.shutdown', 'may take 9 s and has 8.95 s'],
    [{ SHUTDOWN_TIMEOUT: '15' }, 'time-outs.shutdown', 'Set SHUTDOWN_TIMEOUT to 16 or more'],
  ])('do not with %j, and that is all', async (environment, name, text) => {
    expect(await faultsOf(environment)).toEqual({ [name]: expect.stringMatching(new RegExp(`^warning: .*${text}`)) });
  });

  it.each([
    [{ FILTER_TIMEOUT: '4' }],
    [{ KEEP_ALIVE_TIMEOUT: '60.1' }],
    [{ IDEMPOTENCY_TTL: '99' }],
    [{ SHUTDOWN_TIMEOUT: '16' }],
    [{ SHUTDOWN_TIMEOUT: '10', SHUTDOWN_DELAY: '0' }],
  ])('do at the edge: %j', async (environment) => {
    expect(await faultsOf(environment as Record<string, string>)).toEqual({});
  });
});

it.each([
  ['26.10.0', 'ok'],
  ['27.0.0', 'warning'],
  ['28.1.0', 'warning'],
  ['24.9.0', 'failed'],
])('Node %s is %s', (version, status) => {
  expect(judgeNode(version)).toMatchObject({ status, found: expect.stringContaining(version) });
});
