import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import ts from 'typescript';
import { type Mutant, mutate } from './mutant.ts';

const NOT_COPIED = new Set(['.git', 'data', 'reports', 'coverage', 'test-output']);

const isCopied = (path: string) => !NOT_COPIED.has(relative('.', path)) && basename(path) !== 'node_modules';

/** The command `npm run jest`, without the name of Node. */
const JEST = (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { jest: string } }).scripts.jest
  .split(' ')
  .slice(1);

/** What became of a run of tests. */
export interface Run {
  readonly passed: number;
  readonly failed: number;
  /** The first line of the first failure. */
  readonly failure: string;
}

interface JestResults {
  numPassedTests: number;
  numFailedTests: number;
  testResults: { message: string; assertionResults: { status: string; failureMessages: string[] }[] }[];
}

/** A copy of the project, in which files can be changed. */
export class Workspace {
  private readonly directory = mkdtempSync(join(tmpdir(), 'items-mutants-'));
  private readonly temporary = join(this.directory, '.tmp');
  private readonly options = compilerOptions();
  private running: ChildProcess | undefined;

  constructor() {
    // Tests let the user of PostgreSQL make a server in it.
    chmodSync(this.directory, 0o755);
    cpSync('.', this.directory, { recursive: true, filter: isCopied });
    symlinkSync(resolve('node_modules'), join(this.directory, 'node_modules'));
  }

  /** Makes the databases that tests copy, once for all runs. @returns a function that removes them, and those on a server */
  static async shareDatabases(): Promise<() => Promise<void>> {
    const [setUp, tearDown] = await Promise.all(
      ['setup', 'teardown'].map(async (name) => {
        const file = pathToFileURL(resolve(`test/support/global-${name}.js`)).href;
        return ((await import(file)) as { default: () => Promise<void> }).default;
      }),
    );
    await setUp?.();
    return () => tearDown?.() ?? Promise.resolve();
  }

  /** Changes a file of the source, and what the build made of it. @returns a function that restores both */
  apply(mutant: Mutant): () => void {
    const original = readFileSync(mutant.file, 'utf8');
    const mutated = mutate(original, mutant);
    this.write(mutant.file, mutated);
    return () => this.write(mutant.file, original);
  }

  /**
   * Runs the tests of these files whose names match.
   *
   * @param seconds - after which it is stopped, and has failed
   * @param variables - for the tests
   */
  async run(files: readonly string[], pattern: string, seconds: number, variables: NodeJS.ProcessEnv = {}): Promise<Run> {
    rmSync(this.temporary, { recursive: true, force: true });
    mkdirSync(this.temporary);
    const output = join(this.temporary, 'results.json');
    const temporary = { TMPDIR: this.temporary, TEST_COPIES_DIRECTORY: this.temporary };
    const options = ['--ci', '--silent', '--forceExit', '--json', '--outputFile', output, '--testNamePattern', pattern];
    const cache = ['--cacheDirectory', join(this.directory, '.cache')];
    const child = spawn(process.execPath, [...JEST, ...cache, ...options, '--runTestsByPath', ...files], {
      cwd: this.directory,
      env: { ...process.env, ...temporary, TEST_DATABASES_SHARED: 'true', ...variables },
      stdio: 'ignore',
      detached: true,
    });
    this.running = child;
    const late = new AbortController();
    late.signal.addEventListener('abort', () => this.stop());
    const timer = setTimeout(() => late.abort(), seconds * 1000);
    await new Promise((ended) => child.once('close', ended));
    clearTimeout(timer);
    // What tests that failed have left running.
    this.stop();
    this.running = undefined;
    return late.signal.aborted ? { passed: 0, failed: 0, failure: `took more than ${seconds} s` } : resultsIn(output);
  }

  remove(): void {
    this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Ends Jest, and all processes that its tests have started. */
  private stop(): void {
    try {
      if (this.running?.pid !== undefined) process.kill(-this.running.pid, 'SIGKILL');
    } catch {
      // All have ended.
    }
  }

  private write(file: string, text: string): void {
    writeFileSync(join(this.directory, file), text);
    if (!file.startsWith('src/')) return;
    const built = file.replace(/^src/, 'dist');
    if (!file.endsWith('.ts')) {
      writeFileSync(join(this.directory, built), text);
      return;
    }
    const { outputText, diagnostics = [] } = ts.transpileModule(text, {
      fileName: file,
      reportDiagnostics: true,
      compilerOptions: this.options,
    });
    const [fault] = diagnostics;
    if (fault) throw new Error(`${file}: ${ts.flattenDiagnosticMessageText(fault.messageText, ' ')}`);
    writeFileSync(join(this.directory, built.replace(/\.ts$/, '.js')), outputText);
  }
}

/** Those of the build, for one file. */
function compilerOptions(): ts.CompilerOptions {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
  const { options } = ts.getParsedCommandLineOfConfigFile('tsconfig.build.json', {}, host) ?? {};
  if (!options) throw new Error('tsconfig.build.json cannot be read.');
  const { rootDir: _rootDir, outDir: _outDir, moduleResolution: _resolution, sourceMap: _sourceMap, ...kept } = options;
  return { ...kept, module: ts.ModuleKind.ESNext };
}

function resultsIn(path: string): Run {
  let results: JestResults;
  try {
    results = JSON.parse(readFileSync(path, 'utf8')) as JestResults;
  } catch {
    return { passed: 0, failed: 0, failure: 'Jest ended without a result' };
  }
  const messages = results.testResults.flatMap(({ assertionResults, message }) => {
    const failures = assertionResults.flatMap(({ failureMessages }) => failureMessages);
    return failures.length > 0 ? failures : message;
  });
  const [failure = ''] = stripVTControlCharacters(messages.find((message) => message !== '') ?? '').split('\n', 1);
  return { passed: results.numPassedTests, failed: results.numFailedTests, failure };
}
