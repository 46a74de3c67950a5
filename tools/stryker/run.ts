import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';

// Changes pure logic, one expression at a time, and expects its tests to fail: npm run stryker [-- <part of a path> [options of Stryker]]

/** Files of pure logic in src/platform, and the tests that show what they promise. */
const ROOMS: readonly (readonly [files: string, tests: string])[] = [
  ['auth/jwt/jwt-verifier', 'auth/jwt/*'],
  ['auth/token-format', 'auth/token-format'],
  ['config/origins', 'config/origins'],
  ['ids/id', 'ids/id'],
  ['problems/*', 'problems/problem'],
  ['lists/cursor', 'lists/cursor'],
  [
    'lists/filter/{compile-expression,condition,operands,parse-expression,values}',
    'lists/filter/{compile-expression,condition,parse-expression,values}',
  ],
  ['lists/filter/{define-filter,filter-fields}', 'lists/filter/*'],
  ['errors/{describe-error,redaction}', 'errors/{describe-error,redaction}'],
  ['preconditions/entity-tags', 'preconditions/entity-tags'],
  ['config/redis-url', 'config/redis-url'],
  ['throttling/sliding-window', 'throttling/sliding-window'],
  ['time/*', 'time/*'],
];

/** Percentage of the mutants of a file that no test finds: at most, except for a single one. */
const MOST_EQUIVALENT = 10;

interface Position {
  line: number;
  column: number;
}
interface Mutant {
  status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'RuntimeError' | 'CompileError' | 'Ignored';
  location: { start: Position; end: Position };
  replacement?: string;
}
interface MutatedFile {
  source: string;
  mutants: readonly Mutant[];
}
/** The lines of a mutant, before and after, without the space around them. */
interface Change {
  is: string;
  becomes: string;
}

const folder = import.meta.dirname;
const root = join(folder, '../..');
const equivalents = parse(readFileSync(join(folder, 'equivalent.yaml'), 'utf8')) as Record<string, readonly Change[]>;

const print = (line: string) => process.stdout.write(`${line}\n`);
const tidy = (code: string) => code.replaceAll(/\s+/g, ' ').trim();
const isSame = (a: Change) => (b: Change) => tidy(a.is) === tidy(b.is) && tidy(a.becomes) === tidy(b.becomes);

function mutate(paths: readonly string[], tests: string, options: readonly string[]): Record<string, MutatedFile> {
  const stryker = join(folder, 'node_modules/@stryker-mutator/core/bin/stryker.js');
  // Outside of the project, where neither Jest nor an editor finds the copy.
  const copy = mkdtempSync(join(tmpdir(), 'stryker-'));
  const args = ['run', join(folder, 'stryker.config.json'), '--tempDirName', copy, '--mutate', paths.join(), ...options];
  const env = { ...process.env, MUTATION_TESTS: `src/platform/${tests}.spec.ts`, TEST_PATIENCE: '5' };
  execFileSync(process.execPath, [stryker, ...args], { cwd: root, env, stdio: 'inherit' });
  const report = JSON.parse(readFileSync(join(root, 'reports/mutation.json'), 'utf8')) as {
    files: Record<string, MutatedFile>;
  };
  return report.files;
}

function changeOf({ location: { start, end }, replacement = '' }: Mutant, source: string): Change & { line: number } {
  const lines = source.split('\n').slice(start.line - 1, end.line);
  const before = lines[0]?.slice(0, start.column - 1) ?? '';
  const after = lines.at(-1)?.slice(end.column - 1) ?? '';
  return { is: tidy(lines.join(' ')), becomes: tidy(before + replacement + after), line: start.line };
}

/** Prints the score of a file, and what is wrong with it. @returns whether all is well */
function judge(file: string, { source, mutants }: MutatedFile): boolean {
  const counted = mutants.filter(({ status }) => !['RuntimeError', 'CompileError', 'Ignored'].includes(status));
  const survived = counted.filter(({ status }) => status === 'Survived' || status === 'NoCoverage');
  const late = counted.filter(({ status }) => status === 'Timeout');
  const changes = survived.map((mutant) => changeOf(mutant, source));
  const known = equivalents[file] ?? [];
  const unknown = changes.filter((change) => !known.some(isSame(change)));
  // A busy machine can end an equivalent one by a timeout.
  const ended = [...changes, ...late.map((mutant) => changeOf(mutant, source))];
  const unseen = known.filter((change) => !ended.some(isSame(change)));
  const score = 100 * (1 - survived.length / counted.length);
  const equivalent = survived.length - unknown.length;
  print(
    `${file}: ${score.toFixed(1)} % of ${counted.length}, ${late.length} of them by a timeout; ${equivalent} are equivalent`,
  );
  for (const { line, is, becomes } of unknown) {
    print(`  ${file}:${line} no test fails when\n    ${is}\n  becomes\n    ${becomes}`);
  }
  for (const { is, becomes } of unseen) {
    print(`  equivalent.yaml lists what a test finds, or what is not there:\n    ${is}\n    ${becomes}`);
  }
  const isHighEnough = survived.length <= 1 || score >= 100 - MOST_EQUIVALENT;
  if (!isHighEnough) print(`  More than ${MOST_EQUIVALENT} % are equivalent: simplify the code.`);
  return unknown.length === 0 && unseen.length === 0 && isHighEnough;
}

const [part = '', ...options] = process.argv.slice(2);
const rooms = ROOMS.map(([files, tests]) => {
  const paths = globSync(`src/platform/${files}.ts`, { cwd: root });
  return { paths: paths.filter((path) => path.includes(part) && !path.endsWith('.spec.ts')), tests };
}).filter(({ paths }) => paths.length > 0);
if (rooms.length === 0) {
  throw new Error(`No file of pure logic has "${part}" in its path: see ROOMS in tools/stryker/run.ts.`);
}
if (!existsSync(join(folder, 'node_modules'))) {
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' });
}
const verdicts = rooms.flatMap(({ paths, tests }) =>
  Object.entries(mutate(paths, tests, options)).map(([file, mutated]) => judge(file, mutated)),
);
const gone = Object.keys(equivalents).filter((file) => !existsSync(join(root, file)));
gone.forEach((file) => print(`equivalent.yaml lists ${file}, which is not there.`));
process.exitCode = verdicts.every(Boolean) && gone.length === 0 ? 0 : 1;
