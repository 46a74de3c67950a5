import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogOutput } from './log-output.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'items-log-'));
});

afterEach(() => rmSync(directory, { recursive: true }));

it('waits for a reader that is slow', async () => {
  const [pipe, path] = [join(directory, 'pipe'), join(directory, 'log')];
  execFileSync('mkfifo', [pipe]);
  const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  const reader = spawn('sh', ['-c', 'sleep 0.3; cat "$0" > "$1"', pipe, path]);
  const ended = once(reader, 'close');
  const output = new LogOutput(fd);
  const line = `${'a'.repeat(999)}\n`;
  for (let count = 0; count < 500; count += 1) output.write(line);
  closeSync(fd);
  await ended;
  expect([readFileSync(path, 'utf8') === line.repeat(500), output.dropped]).toEqual([true, 0]);
});

it('drops and counts what cannot be written, and begins a new line after a torn one', () => {
  const path = join(directory, 'pipe');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const read = () => {
    const buffer = Buffer.alloc(2 ** 20);
    return buffer.toString('utf8', 0, readSync(fd, buffer));
  };
  const output = new LogOutput(fd);
  // A pipe holds less.
  output.write(`${'a'.repeat(200_000)}\n`);
  output.write('b\n');
  expect(output.dropped).toBe(2);
  const torn = read();
  expect(torn.length).toBeGreaterThan(0);
  expect(torn.length).toBeLessThan(200_000);
  output.write('c\n');
  output.write('d\n');
  expect([read(), output.dropped]).toEqual(['\nc\nd\n', 2]);
  closeSync(fd);
});
