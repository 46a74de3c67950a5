import { Module } from '@nestjs/common';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import { describePromises } from './support/promises.js';
import { SamplesModule } from './support/samples.js';

@Module({ imports: [SamplesModule, WidgetsModule] })
class OtherTeamsModule {}

const { FUZZ_REQUESTS = '5000' } = process.env;
const other = { root: OtherTeamsModule, requests: Number(FUZZ_REQUESTS) / 8 };

describePromises('/v1/items', { requests: Number(FUZZ_REQUESTS) });
// What the platform gives to modules of other teams: constraints that the items do not have.
describePromises('/v1/widgets', other);
describePromises('/v1/samples', other);
