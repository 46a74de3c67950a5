import { describePromises } from './support/promises.js';

describePromises('/v1/items');
