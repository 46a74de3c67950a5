import type { ObjectSchema, StringSchema } from 'fast-json-stringify';

const text: StringSchema = { type: 'string' };

/** JSON Schemas of the answers, for serialisers that are compiled. */
export const itemSchema: ObjectSchema = {
  type: 'object',
  properties: { id: text, name: text, description: text, createdAt: { type: 'string', format: 'date-time' } },
  required: ['id', 'name', 'createdAt'],
};

export const pageSchema: ObjectSchema = {
  type: 'object',
  properties: { items: { type: 'array', items: itemSchema }, nextCursor: text },
  required: ['items'],
};
