import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { Database } from '../src/platform/database/database.js';
import { findDrift } from '../src/platform/database/schema-drift.js';
import { NoticesModule, NoticesService } from './fixtures/notices/notices.module.js';
import { Queue } from './fixtures/notices/queue.js';
import { eventually } from './support/eventually.js';
import { MailServer } from './support/mail.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

// On the embedded database, which has one connection, unless there is a server.

@Module({ imports: [PlatformModule, ItemsModule, NoticesModule] })
class OtherTeamsModule {}

let mail: MailServer;

const service = useService(async () => {
  mail = await MailServer.start();
  return startService({ MAIL_URL: mail.url }, undefined, OtherTeamsModule);
});

interface NoticeBody {
  id: string;
  sentAt?: string | null;
}

const create = (recipient: string, headers = {}) =>
  service.api.callWith<NoticeBody>('POST', '/v1/notices', { recipient, text: 'x' }, headers);
const isSent = async (id: string) =>
  typeof (await service.api.call<NoticeBody>('GET', `/v1/notices/${id}`)).body.sentAt === 'string';
/** How many jobs there are for each state, and notices. */
const rows = () =>
  service.app
    .get(DataSource)
    .query(
      'SELECT state, count(*)::int AS jobs, (SELECT count(*)::int FROM notices) AS notices FROM queue.job GROUP BY state',
    );

it('runs a job after the commit, again until it succeeds, and then no more', async () => {
  mail.failures = 2;
  const { status, body } = await create('retried');
  expect([status, body.sentAt]).toEqual([201, null]);
  await eventually(() => isSent(body.id));
  const delivery = { key: body.id, recipient: 'retried', text: 'x' };
  expect(mail.to('retried')).toEqual([delivery, delivery, delivery]);
  await eventually(async () => JSON.stringify(await rows()) === '[{"state":"completed","jobs":1,"notices":1}]');
});

it('adds no job if the transaction fails afterwards, and runs none before the commit [job-in-transaction]', async () => {
  const before = await rows();
  const notices = service.app.get(NoticesService);
  const database = service.app.get(Database);
  const undone = database.transaction(async () => {
    await notices.create({ recipient: 'undone', text: 'x' });
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  expect(await rows()).toEqual(before);
  const { id } = await database.transaction(async () => {
    const notice = await notices.create({ recipient: 'late', text: 'x' });
    // Longer than between two looks for jobs.
    await delay(1500);
    expect(mail.to('late')).toEqual([]);
    return notice;
  });
  await eventually(() => isSent(id));
  expect([mail.to('late').length, mail.to('undone').length]).toEqual([1, 0]);
});

it('adds one job for each Idempotency-Key', async () => {
  const keys = ['a', 'a', 'b', 'b', 'a'];
  const responses = await Promise.all(keys.map((key) => create(`of ${key}`, { 'Idempotency-Key': key })));
  expect(responses.map(({ status }) => status)).toEqual(keys.map(() => 201));
  expect(new Set(responses.map(({ body }) => body.id)).size).toBe(2);
  for (const { body } of responses) await eventually(() => isSent(body.id));
  expect([mail.to('of a').length, mail.to('of b').length]).toEqual([1, 1]);
});

it('leaves no connection in a transaction that failed, and no drift from the entities', async () => {
  const { rejects } = expect(service.app.get(Queue)['boss'].getDb().executeSql('BEGIN; SELECT nothing; COMMIT'));
  await rejects.toThrow('column "nothing" does not exist');
  expect((await create('after a failure')).status).toBe(201);
  expect(await findDrift(service.app.get(DataSource))).toEqual([]);
});
