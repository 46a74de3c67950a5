import { Client } from 'pg';
import { createDatabase } from '../database.ts';
import { print, printTable } from '../print.ts';
import { migrate } from '../service.ts';
import { fillTo } from './fill.ts';
import { measurePages, type Page } from './pages.ts';
import { measureProcesses } from './processes.ts';
import { measureTelemetry } from './telemetry.ts';

/** Numbers of items at which pages are measured, in ascending order. */
const [, , ...given] = process.argv;
const SIZES = given.length > 0 ? given.map(Number) : [10_000, 1_000_000, 10_000_000];

/** How many times the first page a deep one may cost at the same size, in processor time of the service and in time. */
const DEEP = 1.1;

const { url, drop } = await createDatabase();
const client = new Client(url);
const results: { size: number; pages: Page[] }[] = [];
try {
  await migrate(url);
  await client.connect();
  let filled = 0;
  for (const size of SIZES) {
    await fillTo(client, filled, size);
    filled = size;
    results.push({ size, pages: await measurePages(client, url, size) });
    if (size === SIZES[0]) {
      await measureProcesses(client, url);
      await measureTelemetry(url);
    }
  }
} finally {
  await client.end();
  await drop();
}
report();

function report(): void {
  const base = results[0]?.pages[0];
  const rows = results.flatMap(({ size, pages }) =>
    pages.map((page) => [
      `${size.toLocaleString('en')} items, ${page.name}`,
      page.service.toFixed(0),
      page.postgresql.toFixed(0),
      page.latency.toFixed(0),
      (page.service / (base?.service ?? NaN)).toFixed(2),
      (page.postgresql / (base?.postgresql ?? NaN)).toFixed(2),
      page.serviceToFirst.toFixed(2),
      page.postgresqlToFirst.toFixed(2),
      page.latencyToFirst.toFixed(2),
    ]),
  );
  const head = ['page of 20', 'service µs', 'PostgreSQL µs', 'latency µs', 'service × first of all', 'PostgreSQL × first of all'];
  printTable([...head, 'service × first', 'PostgreSQL × first', 'latency × first'], rows);
  for (const { size, pages } of results) {
    for (const { name, serviceToFirst, latencyToFirst } of pages.slice(1)) {
      const isKept = serviceToFirst <= DEEP && latencyToFirst <= DEEP;
      print(
        `${isKept ? 'kept' : 'NOT kept'}: at ${size.toLocaleString('en')} items, the page ${name} is within ${DEEP} × the first`,
      );
      process.exitCode = isKept ? process.exitCode : 1;
    }
  }
}
