import { defineFilter } from '../platform/index.js';
import { Item } from './item.entity.js';

export const itemFilter = defineFilter(
  Item,
  {
    id: { type: 'uuid' },
    name: { type: 'string', indexes: ['items_name_id_idx', 'items_name_trigrams_idx'] },
    description: {
      type: 'string',
      nullable: true,
      unindexed: 'a word index would take half the space of the table and slow down every insert: see docs/filtering.md',
    },
    createdAt: { type: 'creationTime' },
  },
  {
    'With a certain name': 'name == "Blue bicycle"',
    'With one of several names': 'name in ["Blue bicycle", "Red bicycle"]',
    'With a name that starts with a text': 'name.startsWith("Blue")',
    'With a word in the name, case-insensitive': 'name.icontains("bicycle")',
    'Without a description': 'description == null',
    'Created in January 2026': 'createdAt >= timestamp("2026-01-01T00:00:00Z") && createdAt < timestamp("2026-02-01T00:00:00Z")',
    'Several conditions': '(name.startsWith("Blue") || name.startsWith("Red")) && !description.contains("bell")',
  },
);
