import { Items } from '../work/items.ts';
import { serve } from '../work/node-http.ts';

/** By hand on node:http and pg, with what JavaScript brings: the base of all ratios. */
serve(Items.withDates(), { page: JSON.stringify, item: JSON.stringify });
