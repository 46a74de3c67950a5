import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Api } from './support/api.js';
import { ServiceProcess } from './support/process.js';
import { eventually } from './support/eventually.js';
import { createEmbedded, createTestDatabase } from './support/test-database.js';
import { declareToken } from './support/tokens.js';

const KILLS = 4;

describe('kill -9 during creates', () => {
  it(`loses no acknowledged item, ${KILLS} times`, async () => {
    const database = await createTestDatabase();
    const { token, variables } = await declareToken();
    const environment = { ...database.environment, ...variables };
    const acknowledged: string[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = acknowledged.length;
      const service = await ServiceProcess.startReady(environment);
      const writers = Array.from({ length: 8 }, () => write(service.client(token), acknowledged));
      // At another moment each time: after 100, 137, 174, … acknowledged items.
      await eventually(() => acknowledged.length >= before + 100 + kill * 37);
      expect(await service.end('SIGKILL')).toBeNull();
      await Promise.all(writers);
    }
    const survivor = await ServiceProcess.startReady(environment);
    const stored = new Set((await survivor.client(token).walk({ limit: '100' })).map(({ name }) => name));
    expect(await survivor.end('SIGTERM')).toBe(0);

    expect(acknowledged.length).toBeGreaterThan(KILLS * 100);
    expect(acknowledged.filter((name) => !stored.has(name))).toEqual([]);
  });
});

describe('a copy of the data directory of a stopped service', () => {
  it('contains the same database, when made and restored as in docs/operations.md [embedded-copy]', async () => {
    const database = await createEmbedded();
    const { DATA_DIR } = database.environment;
    const { token, variables } = await declareToken();
    const service = await ServiceProcess.startReady({ DATA_DIR, ...variables });
    expect((await service.client(token).create({ name: 'kept' })).status).toBe(201);
    await service.end('SIGTERM');
    const handbook = await readFile('docs/operations.md', 'utf8');
    const [, command = ''] = /^### Embedded\n.*?^```sh\n(.*?)^```$/ms.exec(handbook) ?? [];
    await promisify(execFile)('sh', ['-euc', command], { env: { PATH: process.env['PATH'], DATA_DIR } });

    const [copy = ''] = globSync(`${DATA_DIR}.*`);
    const restored = await ServiceProcess.startReady({ DATA_DIR: copy, ...variables });
    const { status, body } = await restored.client(token).list();
    await restored.end('SIGTERM');
    expect([status, body.items.map(({ name }) => name)]).toEqual([200, ['kept']]);
  });
});

let counter = 0;

/** Creates items until the service is gone, noting each that was acknowledged. */
async function write(client: Api, acknowledged: string[]): Promise<void> {
  for (;;) {
    counter += 1;
    const name = `item ${counter}`;
    const answer = await client.create({ name }).catch(() => undefined);
    if (!answer) {
      return;
    }
    if (answer.status !== 201) {
      throw new Error(`A create was answered ${answer.status}.`);
    }
    acknowledged.push(name);
  }
}
