import { setTimeout as delay } from 'node:timers/promises';
import { IdentityProvider } from '../support/identity-provider.js';
import { ServiceProcess } from '../support/process.js';
import { createTestDatabase } from '../support/test-database.js';

/** Between two times that a replica asks for keys, in seconds. */
const PAUSE = 30;

it('follows new keys on every replica, asks nobody too often, and goes on while the issuer is away', async () => {
  const database = await createTestDatabase();
  const provider = await IdentityProvider.start();
  const environment = { ...database.environment, ...provider.environment };
  const began = performance.now();
  const replicas = await Promise.all([ServiceProcess.startReady(environment), ServiceProcess.startReady(environment)]);
  const statusesOf = (jwt: string) => Promise.all(replicas.map(async (replica) => (await replica.client(jwt).list()).status));
  const becomesValid = async (jwt: string) => {
    for (const deadline = performance.now() + (PAUSE + 10) * 1000; performance.now() < deadline; await delay(200)) {
      if (!(await statusesOf(jwt)).includes(401)) return;
    }
  };

  const old = await provider.sign();
  await becomesValid(old);
  await provider.rotate();
  const fresh = await provider.sign();
  // An attacker's key names use up the attempt that is free.
  expect(await statusesOf(await provider.sign({}, { kid: 'invented' }))).toEqual([401, 401]);
  await becomesValid(fresh);
  expect([await statusesOf(fresh), await statusesOf(old)]).toEqual([
    [200, 200],
    [200, 200],
  ]);

  await provider.leave();
  expect(await statusesOf(await provider.sign({ sub: 'bob' }))).toEqual([200, 200]);
  await provider.rotate();
  expect(await statusesOf(await provider.sign({ sub: 'bob' }))).toEqual([401, 401]);
  const attempts = 1 + Math.floor((performance.now() - began) / (PAUSE * 1000));
  expect(provider.requests.keys).toBeLessThanOrEqual(replicas.length * attempts);
  expect(await Promise.all(replicas.map((replica) => replica.end('SIGTERM')))).toEqual([0, 0]);
  await database.drop();
});
