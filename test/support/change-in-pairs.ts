import type { Api } from './api.js';

export interface Widget {
  id: string;
  price: number;
  etag: string;
}

/**
 * Lets two clients read a widget whose price is 0 and raise its price at once, again and again: one of them is refused, and repeats its
 * change. The price shows that no change was lost.
 *
 * @param clients - of one instance or of several
 */
export async function changeInPairs(clients: readonly [Api, Api], path: string, pairs: number): Promise<void> {
  const raise = async (client: Api, { price, etag }: Widget) =>
    (await client.callWith('PATCH', path, { price: price + 1 }, { 'If-Match': etag })).status;
  const read = async (client: Api) => (await client.call<Widget>('GET', path)).body;
  const statuses: number[][] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const seen = await Promise.all(clients.map(read));
    const first = await Promise.all(clients.map((client, index) => raise(client, seen[index] as Widget)));
    const refused = clients[first.indexOf(412)] ?? clients[0];
    statuses.push([...first.toSorted((a, b) => a - b), await raise(refused, await read(refused))]);
  }
  expect(statuses).toEqual(statuses.map(() => [200, 412, 200]));
  expect((await read(clients[0])).price).toBe(2 * pairs);
}
