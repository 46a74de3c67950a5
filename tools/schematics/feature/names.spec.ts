import { namesOf } from './names.ts';

it.each([
  ['widgets', 'widget'],
  ['batteries', 'battery'],
  ['delivery-addresses', 'delivery-address'],
  ['branches', 'branch'],
  ['statuses', 'status'],
  ['warehouses', 'warehouse'],
  ['movies', 'movie'],
  ['sales-people', 'sales-person'],
])('takes one of %s for a %s', (plural, singular) => {
  expect(namesOf(plural)).toEqual({ plural, singular });
});

it.each([
  ['sheep', undefined, 'npm run generate -- sheep --singular <name>'],
  ['series', undefined, 'The singular of "series" is unknown'],
  ['travel-news', undefined, 'The singular of "travel-news" is unknown'],
  ['status', undefined, 'The singular of "status" is unknown'],
  ['sheep', 'sheep', 'Choose another singular, such as sheep-item'],
  ['platform', 'plat', '"platform" is reserved'],
  ['rows', undefined, '"row" is reserved. Choose another name, such as service-rows'],
  ['promises', undefined, '"promise" is reserved'],
  ['page-queries', undefined, '"page-query" is reserved'],
  ['access-tokens', undefined, '"access-token" is reserved'],
  ['idempotency-keys', undefined, '"idempotency-key" is reserved'],
  ['order_lines', undefined, '"order_lines" is not valid: use'],
  ['2fa-codes', undefined, 'words joined by hyphens, each with a letter first'],
  ['widgets', '../widget', '"../widget" is not valid'],
  [`${'a'.repeat(40)}s`, undefined, 'at most 40 lower-case letters and digits'],
])('refuses %j, of which one is a %j', (plural, singular, message) => {
  expect(() => namesOf(plural, singular)).toThrow(message);
});
