import fastJson from 'fast-json-stringify';
import { itemSchema, pageSchema } from '../work/schemas.ts';
import { Items } from '../work/items.ts';
import { serve } from '../work/node-http.ts';

/** The base with texts for times, and serialisers that were compiled for the answers. */
serve(Items.withTexts(), { page: fastJson(pageSchema), item: fastJson(itemSchema) });
