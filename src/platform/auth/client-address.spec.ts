import type { Socket } from 'node:net';
import { clientAddress, networksOf } from './client-address.js';

const socket = { remoteAddress: '192.0.2.7' } as Socket;

it.each([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['2001:DB8::0:1', '2001:db8::1'],
  ['fe80::1%eth0.5', 'fe80::1'],
  ['fe80::1%a-b', 'fe80::1'],
  ['unknown', '192.0.2.7'],
  ['203.0.113.9:4711', '192.0.2.7'],
  [undefined, '192.0.2.7'],
])('takes %s for the address %s', (ip, address) => {
  expect(clientAddress({ ip, socket })).toBe(address);
});

it('has none of a connection that is gone', () => {
  expect(clientAddress({ ip: undefined, socket: { remoteAddress: undefined } as Socket })).toBe('');
});

it.each([
  ['203.0.113.9', ['203.0.113.9']],
  ['2001:db8:1:2:3:4:5:6', ['2001:db8:1:2::/64', '2001:db8:1::/48']],
  ['2001:db8:1:2:ffff::', ['2001:db8:1:2::/64', '2001:db8:1::/48']],
  ['fe80::1%eth0', ['fe80::/64', 'fe80::/48']],
  ['', ['']],
])('counts failures of %s as those of %j', (address, networks) => {
  expect(networksOf(address)).toEqual(networks);
});
