import { namesOf } from './names.ts';

it.each([
  ['widgets', 'widget'],
  ['batteries', 'battery'],
  ['addresses', 'address'],
  ['wishes', 'wish'],
  ['branches', 'branch'],
  ['boxes', 'box'],
  ['statuses', 'status'],
  ['warehouses', 'warehouse'],
  ['causes', 'cause'],
  ['invoices', 'invoice'],
  ['keys', 'key'],
  ['oauth2-clients', 'oauth2-client'],
  ['delivery-addresses', 'delivery-address'],
  ['abcdefghi-abcdefghi-abcdefghi-abcdefghjs', 'abcdefghi-abcdefghi-abcdefghi-abcdefghj'],
])('takes one of %s for a %s', (plural, singular) => {
  expect(namesOf(plural).singular).toBe(singular);
});

it('takes a singular that no rule gives', () => {
  expect(namesOf('people', 'person')).toEqual({ plural: 'people', singular: 'person' });
  expect(namesOf('caches', 'cache')).toEqual({ plural: 'caches', singular: 'cache' });
});

it.each(['sheep', 'widget', 'address', 'status', 'analysis', 'ss', 'as'])('asks what one of %s is called', (plural) => {
  expect(() => namesOf(plural)).toThrow(`npm run generate -- ${plural} --singular <name>`);
});

const misspelt = ['Widgets', 'orderLines', 'order_lines', 'order lines', '-widgets', 'widgets-', 'order--lines', '2fa-codes'];

it.each([...misspelt, 'top-10s', '', '../widgets', 'widgets/more', 'größen', 'widgets\n'])(
  'refuses the spelling of %j',
  (name) => {
    expect(() => namesOf(name)).toThrow(`"${name}" is no name: write words in lower case, joined by hyphens`);
    expect(() => namesOf('widgets', name)).toThrow(`"${name}" is no name`);
  },
);

it.each([
  ['sheep', 'sheep', 'such as sheep-entries'],
  ['platform', 'plat', '"platform" has a meaning already'],
  ['migrations', undefined, 'such as service-migrations'],
  ['references', undefined, undefined],
  ['promises', undefined, "The class Promise is JavaScript's own"],
  ['maps', undefined, 'such as service-maps'],
  ['abcdefghi-abcdefghi-abcdefghi-abcdefghijs', undefined, 'at most 40 characters'],
])('%s, of which one is a %s: %s', (plural, singular, message) => {
  const names = () => namesOf(plural, singular);
  if (message === undefined) expect(names).not.toThrow();
  else expect(names).toThrow(message);
});
