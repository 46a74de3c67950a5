import { hostname } from 'node:os';
import { text as textOf } from 'node:stream/consumers';
import type { INestApplicationContext } from '@nestjs/common';
import { type Command, InvalidArgumentError } from 'commander';
import { validate as isUuid } from 'uuid';
import { OperatorError } from '../config/operator-error.js';
import { routesOf } from '../routes/route.js';
import { dateIn, parseDuration } from '../time/duration.js';
import type { AccessToken } from './access-token.entity.js';
import { AccessTokensService } from './access-tokens.service.js';
import type { Attribution } from './audit-log.js';
import { hideCredentials } from './hide-credentials.js';
import { digestOf, generateToken, isTokenName, isWellFormedToken, TOKEN_NAME_RULE, TOKEN_PREFIX } from './token-format.js';
import { scopesOf } from './token-policy.decorator.js';

type WithDatabase = <T>(run: (app: INestApplicationContext) => Promise<T>) => Promise<T>;

/** Makes the commands for access tokens parts of the command `token`. */
export function addTokenCommands(token: Command, withDatabase: WithDatabase): void {
  const withTokens = <T>(run: (tokens: AccessTokensService, app: INestApplicationContext) => Promise<T>) =>
    withDatabase((app) => run(app.get(AccessTokensService), app));
  const lifetime = durationParser('90d or 24h, or never', (milliseconds) => milliseconds > 0);
  const overlapping = durationParser('24h or 7d, or 0h', Number.isFinite);

  attributed(token.command('issue'))
    .description('issue a token and print it, alone; it cannot be shown again')
    .requiredOption('--name <name>', 'tells this token from others in `token list`', tokenName)
    .option('--expires <duration>', 'how long it is valid, like 90d or 24h, or never', lifetime, Infinity)
    .option('--scope <scopes...>', 'what it is restricted to, like items:read; without, it may do everything')
    .action(async ({ name, expires, scope, ...by }: Attribution & { name: string; expires: number; scope?: string[] }) => {
      const issue = (tokens: AccessTokensService, app: INestApplicationContext) => {
        refuseUnknown(scope ?? [], new Set(routesOf(app).flatMap(scopesOf)));
        return tokens.issue({ name, expiresAt: dateIn(expires), scopes: scope ?? null }, by);
      };
      print(await withTokens(issue));
    });

  token
    .command('list')
    .description('list all tokens, oldest first')
    .option('--json', 'as JSON, for programs')
    .action(async ({ json = false }: { json?: boolean }) => {
      const tokens = (await withTokens((service) => service.list())).map(describe);
      print(json ? JSON.stringify(tokens, null, 2) : table(tokens));
    });

  attributed(token.command('rotate'))
    .description('issue a token in place of another and print it, alone; it has its name and scopes')
    .argument('<id>', 'id of the token, from `token list`', tokenId)
    .option('--overlap <duration>', 'how long the old one goes on working, like 24h or 0h', overlapping, parseDuration('24h'))
    .option('--expires <duration>', 'how long the new one is valid; without, as long as the old one was meant to be', lifetime)
    .action(async (id: string, { overlap, expires, ...by }: Attribution & { overlap: number; expires?: number }) => {
      print(await withTokens((tokens) => tokens.rotate(id, { overlap, lifetime: expires }, by)));
    });

  attributed(token.command('revoke'))
    .description('revoke a token; running services follow within TOKEN_CACHE_TTL seconds')
    .argument('<id|token>', 'id of the token, or the token itself; - reads it from standard input, out of sight of other users')
    .action(async (given: string, by: Attribution) => {
      const text = given === '-' ? (await textOf(process.stdin)).trim() : given;
      const which = isWellFormedToken(text) ? { digest: digestOf(text) } : { id: tokenId(text) };
      if (!(await withTokens((service) => service.revoke(which, by)))) {
        throw new OperatorError(
          'The database has no such token in use, see `token list`. A token of AUTH_TOKENS_FILE is revoked by removing its line there.',
        );
      }
    });

  token
    .command('generate')
    .description('print a new token that is valid nowhere yet, for AUTH_TOKENS_FILE')
    .action(() => print(generateToken()));
}

function attributed(command: Command): Command {
  const user = process.env['USER'] ?? `uid ${process.getuid?.() ?? 'unknown'}`;
  return command
    .option('--actor <who>', 'who does it, for the audit log', hideCredentials, `${user}@${hostname()}`)
    .option('--reason <why>', 'why, for the audit log', hideCredentials, 'not given');
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

/** Reads milliseconds, infinitely many from `never`. */
function durationParser(examples: string, isAllowed: (milliseconds: number) => boolean): (text: string) => number {
  return (text) => {
    const milliseconds = text === 'never' ? Infinity : parseDuration(text);
    if (milliseconds === undefined || !isAllowed(milliseconds)) {
      throw new InvalidArgumentError(`Write a duration, like ${examples}.`);
    }
    return milliseconds;
  };
}

/** Does not repeat a wrong id: it may be a token that was mistyped. */
function tokenId(text: string): string {
  if (!isUuid(text)) {
    throw new OperatorError(
      'This is neither a token nor an id. An id looks like 0190163d-8694-739b-aea5-966c26f8ad91, see `token list`.',
    );
  }
  return text;
}

/** A mistyped scope would make a token that nothing can be done with. */
function refuseUnknown(scopes: readonly string[], known: ReadonlySet<string>): void {
  const unknown = scopes.find((scope) => !known.has(scope));
  if (unknown !== undefined) {
    throw new OperatorError(`There is no scope ${hideCredentials(unknown)}. There are ${[...known].toSorted().join(', ')}.`);
  }
}

const COLUMNS = ['ID', 'NAME', 'TOKEN', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED', 'SCOPES'];

/** What may be shown of a token, in the order of the columns, and what only programs are shown. */
function describe({ id, name, lastFour, createdAt, expiresAt, lastUsedOn, revokedAt, scopes, replacedBy }: AccessToken) {
  const token = `${TOKEN_PREFIX}…${lastFour ?? ''}`;
  return { id, name, token, createdAt, expiresAt, lastUsedOn, revokedAt, scopes, replacedBy };
}

function table(tokens: readonly ReturnType<typeof describe>[]): string {
  const rows = tokens.map((token) => Object.values(token).slice(0, COLUMNS.length).map(cell));
  return [COLUMNS, ...rows].map((row) => row.join('\t')).join('\n');
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function cell(value: string | string[] | Date | null): string {
  return value instanceof Date ? value.toISOString() : [value ?? '-'].flat().join(' ');
}
