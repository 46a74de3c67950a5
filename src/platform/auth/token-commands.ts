import { hostname } from 'node:os';
import { text as readText } from 'node:stream/consumers';
import type { INestApplicationContext } from '@nestjs/common';
import { type Command, Option } from 'commander';
import { Configuration } from '../config/configuration.js';
import { OperatorError } from '../errors/operator-error.js';
import { dateIn, parseDuration } from '../time/duration.js';
import type { AccessToken } from './access-token.entity.js';
import type { AccessTokensService } from './access-tokens.service.js';
import type { Attribution } from './audit-log.js';
import { DURATION, durationParser, tokenId, tokenLimit, tokenName } from './token-arguments.js';
import { generateToken, isWellFormedToken } from './token-format.js';
import { hideCredentials } from '../errors/redaction.js';
import { TOKEN_LIMIT_RULE, tokenLimitFault } from './token-limit.js';
import { describeToken, minuteOf, tableOf } from './token-table.js';

type IssuedToken = Pick<AccessToken, 'id' | 'name' | 'expiresAt' | 'rateLimit'>;
type IssueOptions = Attribution & { name?: string; expires: number; scope: string[] | null; limit: number | null };
type RotateOptions = Attribution & { overlap: number; expires?: number };
type WithTokens = <T>(run: (tokens: AccessTokensService, app: INestApplicationContext) => Promise<T>) => Promise<T>;
type WithDatabase = <T>(run: (app: INestApplicationContext) => Promise<T>) => Promise<T>;

const EXPIRY = `time until the token expires: ${DURATION}, or never`;
const lifetime = durationParser('or never', (milliseconds) => milliseconds > 0);

/** Adds the commands for access tokens to the command `token`. Modules that only actions need are loaded by them. */
export function addTokenCommands(token: Command, withDatabase: WithDatabase): void {
  const withTokens: WithTokens = (run) =>
    withDatabase(async (app) => {
      const { AccessTokensService: service } = await import('./access-tokens.service.js');
      return run(app.get(service), app);
    });
  const issue = addIssue(token, withTokens);
  addList(token, withTokens);
  attribute([issue, addRotate(token, withTokens), addRevoke(token, withTokens)]);
  token
    .command('generate')
    .description('print a new token for AUTH_TOKENS_FILE; it is not stored')
    .action(() => print(generateToken()));
}

function addIssue(token: Command, withTokens: WithTokens): Command {
  const limit = new Option('--limit <requests>', `requests in RATE_LIMIT_WINDOW: ${TOKEN_LIMIT_RULE}`).argParser(tokenLimit);
  const scope = new Option('--scope <scopes...>', 'scopes that the token is restricted to, such as items:read');
  return (
    token
      .command('issue')
      .description('issue a token; only the token goes to standard output, and it cannot be displayed again')
      // `requiredOption` would report a misspelled `--nmae` as a missing `--name`.
      .option('--name <name>', 'required: name of the token in `token list`', tokenName)
      .addOption(new Option('--expires <duration>', EXPIRY).argParser(lifetime).default(Infinity, 'never'))
      .addOption(scope.default(null, 'all'))
      .addOption(limit.default(null, 'RATE_LIMIT'))
      .action(async (options: IssueOptions, command: Command) => {
        const { name, expires, scope: scopes, limit: rateLimit } = options;
        if (name === undefined) {
          command.error("error: required option '--name <name>' not specified");
        }
        await withTokens(async (tokens, app) => {
          await requireKnownScopes(scopes ?? [], app);
          const limitFault = tokenLimitFault(rateLimit, app.get(Configuration));
          if (limitFault !== undefined) {
            throw new OperatorError(`The token ${limitFault}.`);
          }
          const given = { name, expiresAt: dateIn(expires), scopes: scopes && [...new Set(scopes)], rateLimit };
          const issued = await tokens.issue(given, options);
          print(issued.token);
          explain(issuedText(issued.row));
        });
      })
  );
}

/** @throws OperatorError if no route requires one of the scopes, and no module defines it */
async function requireKnownScopes(scopes: readonly string[], app: INestApplicationContext): Promise<void> {
  const [{ routesOf }, { knownScopes }] = await Promise.all([import('../routes/route.js'), import('./scopes.guard.js')]);
  const known = knownScopes(routesOf(app));
  const unknown = scopes.find((each) => !known.has(each));
  if (unknown !== undefined) {
    const names = [...known].toSorted().join(', ');
    throw new OperatorError(`There is no scope ${hideCredentials(unknown)}. The scopes are ${names}.`);
  }
}

function addList(token: Command, withTokens: WithTokens): void {
  token
    .command('list')
    .description('list all tokens, the oldest first')
    .option('--json', 'print a JSON array instead of a table')
    .action(async ({ json = false }: { json?: boolean }) => {
      const tokens = (await withTokens((service) => service.list())).map(describeToken);
      print(json ? JSON.stringify(tokens, null, 2) : tableOf(tokens));
      if (tokens.length === 0) {
        explain('There are no tokens. Create one with `token issue --name <name>`.');
      }
    });
}

function addRotate(token: Command, withTokens: WithTokens): Command {
  const overlapOption = new Option(
    '--overlap <duration>',
    `time that the old token stays valid, at most: ${DURATION}, or 0h`,
  ).argParser(durationParser('or 0h', Number.isFinite));
  return token
    .command('rotate')
    .description(
      'issue a token that replaces another, with its name, scopes and limit; only the new token goes to standard output',
    )
    .argument('<id>', 'id of the token to replace, from `token list`', tokenId)
    .addOption(overlapOption.default(parseDuration('24h'), '24h'))
    .option('--expires <duration>', `${EXPIRY} (default: as long as the old token)`, lifetime)
    .action((id: string, options: RotateOptions) =>
      withTokens(async (tokens) => {
        const { overlap, expires } = options;
        const rotated = await tokens.rotate(id, { overlap, lifetime: expires }, options);
        print(rotated.token);
        explain(`${issuedText(rotated.row)} The replaced token ${id} is ${validity(rotated.replacedExpiresAt)}.`);
      }),
    );
}

function addRevoke(token: Command, withTokens: WithTokens): Command {
  return token
    .command('revoke')
    .description('revoke a token; running services refuse it within TOKEN_CACHE_TTL, 30 seconds by default')
    .argument('<id|token>', 'id of the token, or the token; - reads it from standard input, where other users cannot see it')
    .action(async (given: string, by: Attribution) => {
      const text = given === '-' ? (await readText(process.stdin)).trim() : given;
      const which = isWellFormedToken(text) ? { token: text } : { id: tokenId(text) };
      await withTokens(async (tokens) => {
        const revoked = await tokens.revoke(which, by);
        if (!revoked) {
          throw new OperatorError(
            'No active token matches, see `token list`. To revoke a token of AUTH_TOKENS_FILE, remove its line.',
          );
        }
        const { id, name } = revoked;
        explain(`Revoked token ${id} "${name}". Running services refuse it within TOKEN_CACHE_TTL, 30 seconds by default.`);
      });
    });
}

function attribute(commands: readonly Command[]): void {
  const actor = `${process.env['USER'] ?? `uid ${process.getuid?.() ?? 'unknown'}`}@${hostname()}`;
  for (const command of commands) {
    command
      .option('--actor <name>', 'person or program that does this, for the audit log', hideCredentials, actor)
      .option('--reason <text>', 'reason, for the audit log', hideCredentials, 'not given');
  }
}

function issuedText({ id, name, expiresAt, rateLimit }: IssuedToken): string {
  const limit = rateLimit === null ? '' : `, limit ${rateLimit}`;
  return `Issued token ${id} "${name}", ${validity(expiresAt)}${limit}. It cannot be displayed again.`;
}

function validity(expiresAt: Date | null): string {
  if (expiresAt === null) {
    return 'valid until it is revoked';
  }
  return expiresAt.getTime() > Date.now() ? `valid until ${minuteOf(expiresAt)}` : 'no longer valid';
}

/** Writes a result. */
function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a message about a result. */
function explain(text: string): void {
  process.stderr.write(`${text}\n`);
}
