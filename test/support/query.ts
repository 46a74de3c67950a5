import { Client, type QueryResultRow } from 'pg';

/** Runs a statement on a separate connection. @returns its rows */
export async function query<Row extends QueryResultRow>(
  url: string,
  statement: string,
  parameters: unknown[] = [],
): Promise<Row[]> {
  const client = new Client(url);
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(statement, parameters)).rows;
  } finally {
    await client.end();
  }
}
