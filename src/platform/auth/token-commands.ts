import { hostname } from 'node:os';
import { text as textOf } from 'node:stream/consumers';
import type { INestApplicationContext } from '@nestjs/common';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { OperatorError } from '../errors/operator-error.js';
import { isUuid } from '../ids/id.js';
import { dateIn, parseDuration } from '../time/duration.js';
import type { AccessToken } from './access-token.entity.js';
import type { AccessTokensService } from './access-tokens.service.js';
import type { Attribution } from './audit-log.js';
import { hideCredentials } from '../errors/redaction.js';
import { generateToken, isTokenName, isWellFormedToken, TOKEN_NAME_RULE, TOKEN_PREFIX } from './token-format.js';

type IssueOptions = Attribution & { name?: string; expires: number; scope: string[] | null };
type WithDatabase = <T>(run: (app: INestApplicationContext) => Promise<T>) => Promise<T>;

const DURATION = 'a duration such as 90d, 24h or 30m';

/** Adds the commands for access tokens to the command `token`. What only their actions need is loaded then. */
export function addTokenCommands(token: Command, withDatabase: WithDatabase): void {
  const withTokens = <T>(run: (tokens: AccessTokensService, app: INestApplicationContext) => Promise<T>) =>
    withDatabase(async (app) => {
      const { AccessTokensService: service } = await import('./access-tokens.service.js');
      return run(app.get(service), app);
    });
  const lifetime = durationParser('or never', (milliseconds) => milliseconds > 0);
  const overlapping = durationParser('or 0h', Number.isFinite);
  const expiry = `time until the token expires: ${DURATION}, or never`;
  const overlapOption = new Option('--overlap <duration>', `time that the old token stays valid, at most: ${DURATION}, or 0h`);
  const scopeOption = new Option('--scope <scopes...>', 'scopes that the token is restricted to, such as items:read');

  attributed(
    token
      .command('issue')
      .description('issue a token; only the token goes to standard output, and it cannot be displayed again')
      // `requiredOption` would report a misspelled `--nmae` as a missing `--name`.
      .option('--name <name>', 'required: name of the token in `token list`', tokenName)
      .addOption(new Option('--expires <duration>', expiry).argParser(lifetime).default(Infinity, 'never'))
      .addOption(scopeOption.default(null, 'all')),
  ).action(async ({ name, expires, scope, ...by }: IssueOptions, command: Command) => {
    if (name === undefined) {
      command.error("error: required option '--name <name>' not specified");
    }
    await withTokens(async (tokens, app) => {
      const [{ routesOf }, { scopesOf }] = await Promise.all([import('../routes/route.js'), import('./scopes.guard.js')]);
      const known = new Set(routesOf(app).flatMap(scopesOf));
      const unknown = scope?.find((each) => !known.has(each));
      if (unknown !== undefined) {
        const scopes = [...known].toSorted().join(', ');
        throw new OperatorError(`There is no scope ${hideCredentials(unknown)}. The scopes are ${scopes}.`);
      }
      const issued = await tokens.issue({ name, expiresAt: dateIn(expires), scopes: scope && [...new Set(scope)] }, by);
      print(issued.token);
      print(issuedText(issued.row), process.stderr);
    });
  });

  token
    .command('list')
    .description('list all tokens, the oldest first')
    .option('--json', 'print a JSON array instead of a table')
    .action(async ({ json = false }: { json?: boolean }) => {
      const tokens = (await withTokens((service) => service.list())).map(describe);
      print(json ? JSON.stringify(tokens, null, 2) : table(tokens));
      if (tokens.length === 0) {
        print('There are no tokens. Create one with `token issue --name <name>`.', process.stderr);
      }
    });

  attributed(
    token
      .command('rotate')
      .description('issue a token that replaces another, with its name and scopes; only the new token goes to standard output')
      .argument('<id>', 'id of the token to replace, from `token list`', tokenId)
      .addOption(overlapOption.argParser(overlapping).default(parseDuration('24h'), '24h'))
      .option('--expires <duration>', `${expiry} (default: as long as the old token)`, lifetime),
  ).action(async (id: string, { overlap, expires, ...by }: Attribution & { overlap: number; expires?: number }) => {
    await withTokens(async (tokens) => {
      const rotated = await tokens.rotate(id, { overlap, lifetime: expires }, by);
      print(rotated.token);
      print(`${issuedText(rotated.row)} The replaced token ${id} is ${validity(rotated.replacedExpiresAt)}.`, process.stderr);
    });
  });

  attributed(
    token
      .command('revoke')
      .description('revoke a token; running services refuse it within TOKEN_CACHE_TTL, 30 seconds by default')
      .argument('<id|token>', 'id of the token, or the token; - reads it from standard input, where other users cannot see it'),
  ).action(async (given: string, by: Attribution) => {
    const text = given === '-' ? (await textOf(process.stdin)).trim() : given;
    const which = isWellFormedToken(text) ? { token: text } : { id: tokenId(text) };
    await withTokens(async (tokens) => {
      const revoked = await tokens.revoke(which, by);
      if (!revoked) {
        throw new OperatorError(
          'No active token matches, see `token list`. To revoke a token of AUTH_TOKENS_FILE, remove its line.',
        );
      }
      const { id, name } = revoked;
      print(
        `Revoked token ${id} "${name}". Running services refuse it within TOKEN_CACHE_TTL, 30 seconds by default.`,
        process.stderr,
      );
    });
  });

  token
    .command('generate')
    .description('print a new token for AUTH_TOKENS_FILE; it is not stored')
    .action(() => print(generateToken()));
}

function attributed(command: Command): Command {
  const user = process.env['USER'] ?? `uid ${process.getuid?.() ?? 'unknown'}`;
  return command
    .option('--actor <name>', 'person or program that does this, for the audit log', hideCredentials, `${user}@${hostname()}`)
    .option('--reason <text>', 'reason, for the audit log', hideCredentials, 'not given');
}

function tokenName(text: string): string {
  if (!isTokenName(text)) {
    throw new InvalidArgumentError(`Write ${TOKEN_NAME_RULE}.`);
  }
  if (hideCredentials(text) !== text) {
    throw new InvalidArgumentError('This is a token, and names are listed and logged.');
  }
  return text;
}

/** Parses a duration to milliseconds, `never` to `Infinity`. */
function durationParser(special: string, isAllowed: (milliseconds: number) => boolean): (text: string) => number {
  return (text) => {
    const milliseconds = text === 'never' ? Infinity : parseDuration(text);
    if (milliseconds === undefined || !isAllowed(milliseconds)) {
      throw new InvalidArgumentError(`Write ${DURATION}, ${special}.`);
    }
    return milliseconds;
  };
}

/** The error does not repeat the text, which may be a mistyped token. */
function tokenId(text: string): string {
  if (!isUuid(text)) {
    throw new OperatorError(
      'This is neither a token nor an id. An id looks like 0190163d-8694-739b-aea5-966c26f8ad91, see `token list`.',
    );
  }
  return text;
}

type Description = ReturnType<typeof describe>;

const COLUMNS: Readonly<Record<string, (token: Description) => string>> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  TOKEN: ({ token }) => token,
  CREATED: ({ createdAt }) => minuteOf(createdAt),
  EXPIRES: ({ expiresAt }) => (expiresAt ? minuteOf(expiresAt) : 'never'),
  'LAST USED': ({ lastUsedOn }) => lastUsedOn ?? 'never',
  REVOKED: ({ revokedAt, replacedBy }) => (revokedAt ? minuteOf(revokedAt) : replacedBy === null ? 'no' : 'rotated'),
  SCOPES: ({ scopes }) => scopes?.join(' ') ?? 'all',
};

/** The public part of a token. */
function describe({ id, name, lastFour, createdAt, expiresAt, lastUsedOn, revokedAt, scopes, replacedBy }: AccessToken) {
  const token = `${TOKEN_PREFIX}…${lastFour ?? ''}`;
  return { id, name, token, createdAt, expiresAt, lastUsedOn, revokedAt, scopes, replacedBy };
}

function table(tokens: readonly Description[]): string {
  const rows = [Object.keys(COLUMNS), ...tokens.map((token) => Object.values(COLUMNS).map((cellOf) => cellOf(token)))];
  const widthOf = (column: number) => rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0);
  const widths = Object.keys(COLUMNS).map((_, column) => widthOf(column));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

function issuedText({ id, name, expiresAt }: Pick<AccessToken, 'id' | 'name' | 'expiresAt'>): string {
  return `Issued token ${id} "${name}", ${validity(expiresAt)}. It cannot be displayed again.`;
}

function validity(expiresAt: Date | null): string {
  if (expiresAt === null) {
    return 'valid until it is revoked';
  }
  return expiresAt.getTime() > Date.now() ? `valid until ${minuteOf(expiresAt)}` : 'no longer valid';
}

function minuteOf(time: Date): string {
  return `${time.toISOString().slice(0, 16)}Z`;
}

function print(text: string, stream: NodeJS.WriteStream = process.stdout): void {
  stream.write(`${text}\n`);
}
