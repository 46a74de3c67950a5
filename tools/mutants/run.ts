import { parseArgs } from 'node:util';
import { claimsOfProject } from '../guarantees/collect.ts';
import { type Mutant, readMutants } from './mutant.ts';
import { Workspace } from './workspace.ts';

// Breaks the source in one place after the other, and expects that the tests which claim the broken guarantee fail:
// npm run mutants, npm run mutants -- --shard 1/2, npm run mutants -- cursor-never-expires

const { values, positionals } = parseArgs({
  options: {
    shard: { type: 'string', default: '1/1' },
    /** Longest run of the tests of one mutant, in seconds. */
    limit: { type: 'string', default: '30' },
  },
  allowPositionals: true,
});
const limit = Number(values.limit);
/** Tests wait less for conditions, most of which never come true in broken code. */
const impatient = { TEST_PATIENCE: String(limit / 3) };
/** The longest run of the tests of all mutants of the same files, which must succeed without one, in seconds. */
const baselineLimit = 10 * limit;

const specs = /\.(?:e2e-)?spec\.ts$/;
const claims = claimsOfProject().filter(({ file }) => specs.test(file));

/** The files of tests that claim the guarantee of a mutant. @throws Error if there are none */
function filesOf({ guarantee, tests }: Mutant): readonly string[] {
  const claiming = [...new Set(claims.filter(({ key }) => key === guarantee).map(({ file }) => file))];
  const files = claiming.filter((file) => tests?.includes(file) ?? true);
  if (files.length === 0) throw new Error(`No test claims [${guarantee}]${tests ? ` in ${tests.join(', ')}` : ''}.`);
  return files;
}

/** Matches the names of the tests that claim these guarantees. */
function namesOf(mutants: readonly Mutant[]): string {
  return String.raw`\[(?:${[...new Set(mutants.map(({ guarantee }) => guarantee))].join('|')})\]`;
}

/** The mutants that are wanted, by the files of their tests. */
async function ownGroups(): Promise<[files: readonly string[], mutants: readonly Mutant[]][]> {
  const [shard = 1, shards = 1] = values.shard.split('/').map(Number);
  const wanted = (await readMutants()).filter(
    ({ guarantee }) => positionals.length === 0 || positionals.includes(guarantee),
  );
  const groups = Map.groupBy(wanted, (mutant) => filesOf(mutant).join(' '));
  const own = [...groups].filter((_group, index) => index % shards === shard - 1);
  return own.map(([files, mutants]) => [files.split(' '), mutants]);
}

const outcomes = { killed: 0, survived: 0, invalid: 0 };

function report(outcome: keyof typeof outcomes, { guarantee, file }: Mutant, why: string, start: number): void {
  outcomes[outcome] += 1;
  const seconds = `${Math.round((performance.now() - start) / 1000)} s`;
  process.stdout.write(`${outcome.padEnd(8)} ${guarantee.padEnd(28)} ${seconds.padStart(5)}  ${file}: ${why}\n`);
}

async function tryMutant(workspace: Workspace, files: readonly string[], mutant: Mutant): Promise<void> {
  const start = performance.now();
  try {
    const restore = workspace.apply(mutant);
    const { passed, failed, failure } = await workspace.run(files, namesOf([mutant]), limit, {
      ...impatient,
      ...(mutant.embedded && { TEST_DATABASE_URL: '', TEST_REDIS_URL: '' }),
    });
    restore();
    report(failed > 0 ? 'killed' : passed > 0 ? 'survived' : 'invalid', mutant, failure, start);
  } catch (error) {
    report('invalid', mutant, Error.isError(error) ? error.message : String(error), start);
  }
}

async function tryAll(workspace: Workspace): Promise<void> {
  for (const [files, mutants] of await ownGroups()) {
    const start = performance.now();
    const { passed, failed, failure } = await workspace.run(files, namesOf(mutants), baselineLimit);
    for (const mutant of mutants) {
      if (failed === 0 && passed > 0) {
        await tryMutant(workspace, files, mutant);
      } else {
        const why = failure || 'no test ran: are the variables of its folder set (CONTRIBUTING.md)?';
        report('invalid', mutant, `without the mutant: ${why}`, start);
      }
    }
  }
}

const workspace = new Workspace();
const removeDatabases = await Workspace.shareDatabases();
process.once('SIGINT', () => {
  workspace.remove();
  process.exit(130);
});
try {
  await tryAll(workspace);
} finally {
  workspace.remove();
  await removeDatabases();
}
process.stdout.write(`\n${outcomes.killed} killed, ${outcomes.survived} survived, ${outcomes.invalid} invalid.\n`);
process.exitCode = outcomes.killed > 0 && outcomes.survived + outcomes.invalid === 0 ? 0 : 1;
