import { Module } from '@nestjs/common';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import { Widget } from './fixtures/widgets/widget.entity.js';
import type { ProblemBody } from './support/api.js';
import { Contract } from './support/contract.js';
import { SamplesModule } from './support/samples.js';
import { type Service, startService } from './support/service.js';

@Module({ imports: [SamplesModule, WidgetsModule] })
class OtherTeamsModule {}

describe('a second module', () => {
  let service: Service;
  const create = (body: object, headers = {}, path = '/v1/widgets') =>
    service.api.callWith<ProblemBody & Widget>('POST', path, body, headers);
  const sprocket = { name: 'Sprocket', price: 1250, size: 'small' };

  beforeAll(async () => {
    service = await startService({}, undefined, OtherTeamsModule);
  });

  afterAll(() => service.stop());

  it.each<[string, unknown[], string]>([
    ['count', ['5', 5.5, null, true, [5]], 'type'],
    ['count', [-6, 2_147_483_648, -(2 ** 60)], 'range'],
    ['size', ['tiny', 'Small', '', 5, null, ['small']], 'type'],
    ['sender', ['x', '0190163d8694739baea5966c26f8ad91', 5, null, '0190163d-8694-739b-aea5-966c26f8ad91 '], 'type'],
    ['description', [5, false, {}], 'type'],
    ['description', ['x'.repeat(51)], 'too_long'],
    ['description', ['\0', '\ud800'], 'character'],
  ])('responds 400 for %s %j', async (name, values, code) => {
    for (const value of values) {
      const sample = {
        name: 'Bell',
        count: 5,
        size: 'small',
        active: false,
        sender: '0190163d-8694-739b-aea5-966c26f8ad91',
        [name]: value,
      };
      const { status, body } = await create(sample, {}, '/v1/samples');
      const fault = { pointer: `/${name}`, code, detail: expect.stringMatching(/^must /) };
      expect([value, status, body.errors]).toEqual([value, 400, [fault]]);
    }
  });

  it('can have its own documented problem', async () => {
    await create({ ...sprocket, name: 'Taken' });
    const type = '/docs/problems#widget-name-taken';
    const detail = 'Another widget has this name. Choose another one.';
    const taken = await create({ ...sprocket, name: 'Taken' }, { 'Idempotency-Key': 'taken' });
    expect(taken).toMatchObject({ status: 409, body: { type, detail } });
    expect(await (await fetch(`${service.api.origin}/docs/problems`)).text()).toContain('<section id="widget-name-taken">');
    const contract = await Contract.read(service.api.origin);
    expect(contract.operation('post', '/v1/widgets').responses['409']?.description).toBe(
      'Widget name taken (`/docs/problems#widget-name-taken`)',
    );
  });
});
