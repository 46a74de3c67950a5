import { Client } from 'pg';

const clients = new Set<Client>();

afterAll(() => Promise.all([...clients].map((client) => client.end())));

/** A connection to a database, until the tests of the file have ended. */
export async function connectTo(url: string): Promise<Client> {
  const client = new Client(url);
  // The server may be stopped, or the database dropped.
  client.on('error', () => undefined);
  await client.connect();
  clients.add(client);
  return client;
}
