import { defineFilter } from '../platform/index.js';
import { Item } from './item.entity.js';

/** What lists of items can be filtered by. */
export const itemFilter = defineFilter(
  Item,
  {
    id: { type: 'uuid' },
    name: { type: 'string' },
    description: { type: 'string', nullable: true },
    createdAt: { type: 'creationTime' },
  },
  {
    'With a certain name': 'name == "Blue bicycle"',
    'With one of several names': 'name in ["Blue bicycle", "Red bicycle"]',
    'With a name that begins so': 'name.startsWith("Blue")',
    'With a word in the name, in capitals or not': 'name.icontains("bicycle")',
    'Without a description': 'description == null',
    'Created in January 2026': 'createdAt >= timestamp("2026-01-01T00:00:00Z") && createdAt < timestamp("2026-02-01T00:00:00Z")',
    'Several conditions': '(name.startsWith("Blue") || name.startsWith("Red")) && !description.contains("bell")',
  },
);
