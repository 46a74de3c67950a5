import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { doctor } from '../support/doctor.js';
import { runServiceToEnd, ServiceProcess } from '../support/process.js';
import { eventually } from '../support/eventually.js';
import { mountDisk } from '../support/small-disk.js';
import { createEmbedded } from '../support/test-database.js';
import { declareToken } from '../support/tokens.js';

// The embedded database, here because only root may mount a small file system.

const disks: ReturnType<typeof mountDisk>[] = [];

afterEach(() => {
  for (const disk of disks.splice(0)) disk.unmount();
});

function smallDisk() {
  const disk = mountDisk(96);
  disks.push(disk);
  return disk;
}

/** A database on a small disk, and a token for it. */
async function prepare() {
  const disk = smallDisk();
  const DATA_DIR = join(disk.directory, 'data');
  const { environment } = await createEmbedded();
  execFileSync('cp', ['-r', environment.DATA_DIR, DATA_DIR]);
  const { token, variables } = await declareToken();
  return { disk, token, environment: { DATA_DIR, ...variables } };
}

/** 16 KB that cannot be compressed. */
const bulk = () => String.fromCodePoint(...Array.from({ length: 4096 }, () => randomInt(0x10000, 0x10ffff)));

const messageOf = (directory: string, fault = 'the disk is full (no space left on device)') =>
  `The data directory ${directory} cannot be used: ${fault}. Free some space, or choose another directory with DATA_DIR.\n`;

it('responds with 503 to what has no space, reads all the same, and recovers when there is space [full-disk-recovers]', async () => {
  const { disk, token, environment } = await prepare();
  const service = await ServiceProcess.startReady(environment);
  const client = service.client(token);
  disk.fill();
  // Some fit into the pages that the tables have already.
  await eventually(async () => (await client.create({ name: 'too much', description: bulk() })).status === 503);
  const { status, headers } = await client.create({ name: 'too much', description: bulk() });
  expect([status, headers.get('Retry-After')]).toEqual([503, '5']);
  expect((await client.list()).status).toBe(200);

  disk.free();
  expect((await client.create({ name: 'fits', description: bulk() })).status).toBe(201);
  expect((await client.list()).body.items[0]).toMatchObject({ name: 'fits' });
  expect(await service.end('SIGTERM')).toBe(0);
});

it('ends with exit code 1 and the reason when the log cannot be written, and has every acknowledged item at the next start [full-disk-no-loss]', async () => {
  const { disk, token, environment } = await prepare();
  const service = await ServiceProcess.startReady(environment);
  const client = service.client(token);
  const acknowledged: string[] = [];
  // Less than one segment of the write-ahead log, 16 MiB.
  disk.fill(12);
  for (let isThere = true; isThere;) {
    const name = `item ${acknowledged.length}`;
    const answer = await client.create({ name, description: bulk() }).catch(() => undefined);
    isThere = answer !== undefined;
    if (answer) {
      expect(answer.status).toBe(201);
      acknowledged.push(name);
    }
  }
  const full = messageOf(environment.DATA_DIR);
  const { code, stderr } = await service.ended;
  expect([code, stderr, acknowledged.length > 100]).toEqual([1, full, true]);

  const next = await runServiceToEnd(environment);
  expect([next.code, next.stderr]).toEqual([1, full]);
  const { found } = await doctor(environment);
  expect(found['data-directory']).toBe(`${environment.DATA_DIR} cannot be used: the disk is full (no space left on device)`);

  disk.free();
  const heir = await ServiceProcess.startReady(environment);
  const stored = new Set((await heir.client(token).walk({ limit: '100' })).map(({ name }) => name));
  expect(acknowledged.filter((name) => !stored.has(name))).toEqual([]);
  expect((await heir.client(token).create({ name: 'after' })).status).toBe(201);
  expect(await heir.end('SIGTERM')).toBe(0);
}, 300_000);

it('says that the disk is full when a first start has too little space', async () => {
  const disk = smallDisk();
  const DATA_DIR = join(disk.directory, 'data');
  disk.fill(20);
  const { code, stderr } = await runServiceToEnd({ DATA_DIR });
  expect([code, stderr]).toEqual([1, messageOf(DATA_DIR, 'the disk is full')]);
});
