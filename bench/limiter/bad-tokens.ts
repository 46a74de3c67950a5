import { generateToken } from '#service/platform/auth/token-format';
import { sendAll } from '../../test/support/pipeline.ts';
import { freePort } from '../../test/support/free-port.ts';
import { createDatabase } from '../database.ts';
import { printTable } from '../print.ts';
import { inParts } from '../progress.ts';
import { migrate, startService } from '../service.ts';
import { Inspector } from './inspector.ts';

const TOKENS = 1_000_000;
const PART = 100_000;
/** Tokens of a part are made and sent in so many at once. */
const BATCH = 10_000;

/** Addresses that send them, and failures of each that are looked up in a second: some, and not all. */
const ADDRESSES = 7;
const FAILURE_RATE = '100';

/** Bytes of the heap, and of the process, that the last 900,000 tokens may add. A list of them would take 60 MB. */
const GROWTH = { heap: 2 ** 20, resident: 8 * 2 ** 20 };

/** Each kind of a token that is refused, by its number. The first needs a look-up, as long as its address has budget for one. */
const KINDS = [
  () => generateToken(),
  () => generateToken().slice(0, -1),
  (index: number) => `token-${index}`,
  (index: number) => `eyJ${index}.e${index}.s${index}`,
];

interface Memory {
  readonly heap: number;
  readonly resident: number;
}

/** Memory of the service while clients present one bad token after the other. @returns the promises, each with whether it was kept */
export async function measureBadTokens(): Promise<Record<string, boolean>> {
  const { url, drop } = await createDatabase();
  const inspectorPort = await freePort();
  try {
    await migrate(url);
    const service = await startService(url, {
      TRUSTED_PROXIES: '127.0.0.1',
      AUTH_FAILURE_RATE: FAILURE_RATE,
      NODE_OPTIONS: `--inspect=127.0.0.1:${inspectorPort}`,
    });
    const inspector = await Inspector.connect(inspectorPort);
    try {
      const memory: Memory[] = [];
      const statuses: Record<string, number> = {};
      await inParts('distinct bad tokens', TOKENS, BATCH, async (first, last) => {
        const requests = Array.from({ length: last - first + 1 }, (_, index) => requestOf(first + index));
        for (const [status, count] of Object.entries(await sendAll(service.port, requests))) {
          statuses[status] = (statuses[status] ?? 0) + count;
        }
        if (last % PART === 0) {
          await inspector.collectGarbage();
          const metrics = await service.metrics();
          memory.push({
            heap: valueOf(metrics, 'nodejs_heap_size_used_bytes') + valueOf(metrics, 'nodejs_external_memory_bytes'),
            resident: valueOf(metrics, 'process_resident_memory_bytes'),
          });
        }
      });
      return report(memory, statuses);
    } finally {
      inspector.close();
      await service.stop();
    }
  } finally {
    await drop();
  }
}

function requestOf(number: number): string {
  const address = number % ADDRESSES;
  const token = KINDS[number % KINDS.length]?.(number);
  const forwarded = `10.0.0.${address}`;
  return `GET /v1/items HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${forwarded}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}

function valueOf(metrics: string, name: string): number {
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(metrics)?.[1]);
}

function report(memory: readonly Memory[], statuses: Readonly<Record<string, number>>): Record<string, boolean> {
  const [first, last] = [memory[0], memory.at(-1)];
  printTable(
    ['distinct bad tokens', 'heap and arrays, MB', 'resident, MB', '× after the first 100,000'],
    memory.map(({ heap, resident }, index) => [
      String((index + 1) * PART),
      (heap / 1e6).toFixed(1),
      (resident / 1e6).toFixed(1),
      `${(heap / (first?.heap ?? NaN)).toFixed(3)}, ${(resident / (first?.resident ?? NaN)).toFixed(3)}`,
    ]),
  );
  const grown = (kind: keyof Memory) => (last?.[kind] ?? NaN) - (first?.[kind] ?? NaN);
  return {
    'all bad tokens are answered 401': statuses['401'] === TOKENS,
    [`900,000 more of them add less than ${GROWTH.heap / 2 ** 20} MiB to the heap`]: grown('heap') < GROWTH.heap,
    [`… and less than ${GROWTH.resident / 2 ** 20} MiB to the process`]: grown('resident') < GROWTH.resident,
  };
}
