import { Module } from '@nestjs/common';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import { describePromises, type Row } from './support/promises.js';
import { SamplesModule } from './support/samples.js';

@Module({ imports: [SamplesModule, WidgetsModule] })
class OtherTeamsModule {}

const { FUZZ_REQUESTS = '5000' } = process.env;
const other = { root: OtherTeamsModule, requests: Number(FUZZ_REQUESTS) / 8 };

describePromises('/v1/items', { requests: Number(FUZZ_REQUESTS) });
// What the platform gives to modules of other teams: constraints that the items do not have, rows that change, rows below others.
describePromises('/v1/widgets', other);
describePromises('/v1/samples', other);
describePromises('/v1/samples/{sampleId}/marks', {
  ...other,
  body: (count) => ({ text: `Mark ${count}` }),
  order: (a, b) => Date.parse(String(b['createdAt'])) - Date.parse(String(a['createdAt'])),
  at: async (api) => {
    const sample = { name: 'Bell', count: 5, active: true, size: 'small', sender: '0190163d-8694-739b-aea5-966c26f8ad91' };
    const init = { body: JSON.stringify(sample), headers: { 'Content-Type': 'application/json' } };
    return `/v1/samples/${(await api.call<Row>('POST', '/v1/samples', init)).body.id}/marks`;
  },
});
