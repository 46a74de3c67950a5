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
    'A name': 'name == "Blue bicycle"',
    'One of several names': 'name in ["Blue bicycle", "Red bicycle"]',
    'The start of a name': 'name.startsWith("Blue")',
    'Part of a name, case-insensitive': 'name.icontains("BICYCLE")',
    'Part of a description': 'description.contains("bell")',
    'Not part of a description, or none': 'description == null || !description.contains("lamp")',
    'No description': 'description == null',
    'Created in 2026 or later': 'createdAt >= timestamp("2026-01-01T00:00:00Z")',
    'Several conditions': '(name.startsWith("Blue") || name.startsWith("Red")) && description.contains("gears")',
  },
);
