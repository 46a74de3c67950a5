import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { droppedLines, LogOutput } from './log-output.js';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'items-log-'));
});

afterEach(() => {
  jest.restoreAllMocks();
  rmSync(directory, { recursive: true });
});

/** Makes a pipe, which holds 64 KiB. */
function makePipe(): string {
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  return pipe;
}

/** Opens a pipe for both ends, so that it never lacks a reader. */
const openBoth = (pipe: string) => openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);

const endOfTurn = () => new Promise(setImmediate);

const dropped = async () => (await droppedLines.get()).values[0]?.value ?? 0;

it('writes the lines of an event loop turn together, at its end or when the process exits', async () => {
  const path = join(directory, 'log');
  const fd = openSync(path, 'w');
  const output = new LogOutput(fd, true);
  const written = () => readFileSync(path, 'utf8');
  output.write('a\n');
  output.write('b\n');
  expect(written()).toBe('');
  await endOfTurn();
  expect(written()).toBe('a\nb\n');

  output.write('c\n');
  process.listeners('exit').at(-1)?.(0);
  expect(written()).toBe('a\nb\nc\n');
  await endOfTurn();
  closeSync(fd);
});

it('drops no line of a turn because of its size if nothing waits', async () => {
  const path = join(directory, 'log');
  const fd = openSync(path, 'w');
  const output = new LogOutput(fd, true);
  const before = await dropped();
  const lines = [`${'x'.repeat(1_100_000)}\n`, 'y\n', `${'z'.repeat(1_100_000)}\n`];
  lines.forEach((line) => output.write(line));
  await endOfTurn();
  expect([readFileSync(path, 'utf8') === lines.join(''), await dropped()]).toEqual([true, before]);
  closeSync(fd);
});

it('waits for a slow reader of a pipe without blocking, and drops and counts what is more than 1 MiB of lines', async () => {
  const pipe = makePipe();
  const fd = openBoth(pipe);
  const output = new LogOutput(fd, true);
  // Long enough to be written in part.
  const lineOf = (number: number) => `${number}${'a'.repeat(9990)}\n`;
  const linesOf = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => lineOf(from + index));
  const read = async (path: string, command: string) => {
    await once(spawn('sh', ['-c', `${command} > "$1"`, pipe, join(directory, path)]), 'close');
    return readFileSync(join(directory, path), 'utf8');
  };

  const waited = jest.spyOn(Atomics, 'wait');
  linesOf(0, 50).forEach((line) => output.write(line));
  await endOfTurn();
  const first = linesOf(0, 50).join('');
  expect(await read('first', `head -c ${first.length} "$0"`)).toBe(first);
  expect([await dropped(), waited.mock.calls.length]).toEqual([0, 0]);

  const stderr = jest.replaceProperty<{ fd: number }, 'fd'>(process.stderr, 'fd', openSync(join(directory, 'stderr'), 'w'));
  linesOf(50, 250).forEach((line) => output.write(line));
  await endOfTurn();
  expect(await dropped()).toBeGreaterThan(80);
  expect(readFileSync(join(directory, 'stderr'), 'utf8')).toBe('Log lines are dropped: their reader is too slow\n');
  const rest = linesOf(50, 250 - (await dropped())).join('');
  expect(rest.length).toBeGreaterThan(1_048_576);
  expect(await read('rest', `head -c ${rest.length} "$0"`)).toBe(rest);
  output.write('next\n');
  expect(await read('next', 'head -n 1 "$0"')).toBe('next\n');
  stderr.restore();
  closeSync(fd);
});

it('begins a line of its own after one that was written in part', async () => {
  const pipe = makePipe();
  const openReader = () => openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const reader = openReader();
  const fd = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  const before = await dropped();
  const output = new LogOutput(fd, true);
  output.write(`${'a'.repeat(99_999)}\n`);
  await endOfTurn();
  closeSync(reader);
  while ((await dropped()) === before) await new Promise((resolve) => setTimeout(resolve, 5));
  const next = openReader();
  const received = Buffer.alloc(100_000);
  // The pipe still has what was written of the line.
  expect(received.toString('utf8', 0, readSync(next, received))).toMatch(/^a+$/);
  output.write('next\n');
  await endOfTurn();
  expect(received.toString('utf8', 0, readSync(next, received))).toBe('\nnext\n');
  [fd, next].forEach((each) => closeSync(each));
});

it('waits at most a second for a slow reader when the process ends, and before a line of a command', async () => {
  const [pipe, path] = [makePipe(), join(directory, 'log')];
  const fd = openBoth(pipe);
  const line = `${'a'.repeat(9999)}\n`;
  const readLater = (lines = 50) =>
    once(spawn('sh', ['-c', `sleep 0.3; head -c ${lines * line.length} "$0" > "$1"`, pipe, path]), 'close');

  const output = new LogOutput(fd, true);
  let ended = readLater();
  for (let count = 0; count < 50; count += 1) output.write(line);
  process.listeners('exit').at(-1)?.(0);
  await ended;
  expect(readFileSync(path, 'utf8')).toBe(line.repeat(50));

  ended = readLater();
  const ofCommand = new LogOutput(fd);
  for (let count = 0; count < 50; count += 1) ofCommand.write(line);
  await ended;
  expect(readFileSync(path, 'utf8')).toBe(line.repeat(50));

  const waited = jest.spyOn(Atomics, 'wait');
  for (let count = 0; count < 20; count += 1) ofCommand.write(line);
  const attempts = waited.mock.calls.length;
  ofCommand.write(line);
  expect([attempts > 0, waited.mock.calls.length]).toEqual([true, attempts]);
  await readLater(21);
  closeSync(fd);
});
