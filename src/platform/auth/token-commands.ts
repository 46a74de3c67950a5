import { hostname, userInfo } from 'node:os';
import { text as textOf } from 'node:stream/consumers';
import type { INestApplicationContext } from '@nestjs/common';
import { type Command, InvalidArgumentError } from 'commander';
import { validate as isUuid } from 'uuid';
import { Configuration } from '../config/configuration.js';
import { OperatorError } from '../config/operator-error.js';
import { Routes } from '../routes/routes.js';
import { dateIn, parseDuration } from '../time/duration.js';
import type { AccessToken } from './access-token.entity.js';
import { AccessTokensService } from './access-tokens.service.js';
import type { Attribution } from './audit-log.js';
import { readTokensFile } from './declared/tokens-file.js';
import { hideCredentials } from './hide-credentials.js';
import {
  digestOf,
  fingerprintOfDigest,
  generateToken,
  isTokenName,
  isWellFormedToken,
  shorten,
  TOKEN_NAME_RULE,
} from './token-format.js';
import { scopesOf } from './token-policy.decorator.js';

/** What the command line lends its commands. */
export interface CommandLine {
  /** Runs something with the application's providers and a connected database. */
  readonly withDatabase: <T>(run: (app: INestApplicationContext) => Promise<T>) => Promise<T>;
  /** Writes a result. */
  readonly print: (text: string) => void;
}

/**
 * Adds the commands for access tokens.
 *
 * @param token - the command that they become parts of
 */
export function addTokenCommands(token: Command, { withDatabase, print }: CommandLine): void {
  token
    .command('issue')
    .description('issue a token and print it, alone; it cannot be shown again')
    .requiredOption('--name <name>', 'tells this token from others in `token list`', tokenName)
    .option('--expires <duration>', 'how long it is valid, like 90d or 24h, or never', lifetime, Infinity)
    .option('--scope <scopes...>', 'what it is restricted to, like items:read; without, it may do everything')
    .action(async (options: { name: string; expires: number; scope?: string[] }, command: Command) => {
      const { name, expires, scope: scopes = null } = options;
      const expiresAt = dateIn(expires);
      const issue = (app: INestApplicationContext) => {
        refuseUnknown(scopes ?? [], app.get(Routes).all().flatMap(scopesOf));
        return app.get(AccessTokensService).issue({ name, expiresAt, scopes }, attribution(command));
      };
      print(await withDatabase(issue));
    });

  token
    .command('list')
    .description('list all tokens, oldest first')
    .option('--json', 'as JSON, for programs')
    .action(async ({ json = false }: { json?: boolean }) => {
      const tokens = await withDatabase((app) => app.get(AccessTokensService).list());
      print(json ? JSON.stringify(tokens.map(describe), null, 2) : table(tokens));
    });

  token
    .command('rotate')
    .description('issue a token in place of another and print it, alone; it has its name and scopes')
    .argument('<id>', 'id of the token, from `token list`')
    .option('--overlap <duration>', 'how long the old one goes on working, like 24h or 0h', overlap, parseDuration('24h'))
    .option('--expires <duration>', 'how long the new one is valid; without, as long as the old one was meant to be', lifetime)
    .action(async (id: string, options: { overlap: number; expires?: number }, command: Command) => {
      const rotation = { overlap: options.overlap, lifetime: options.expires };
      const known = knownId(id);
      print(await withDatabase((app) => app.get(AccessTokensService).rotate(known, rotation, attribution(command))));
    });

  token
    .command('revoke')
    .description('revoke a token; running services follow within TOKEN_CACHE_TTL seconds')
    .argument('<id|token>', 'id of the token, or the token itself; - reads it from standard input, out of sight of other users')
    .action(async (given: string, _options: object, command: Command) => {
      const which = identify(given === '-' ? (await textOf(process.stdin)).trim() : given);
      await withDatabase(async (app) => {
        const isRevoked = await app.get(AccessTokensService).revoke(which, attribution(command));
        if ('digest' in which) {
          await refuseDeclared(app, which.digest);
        }
        if (!isRevoked) {
          throw new OperatorError(
            'id' in which
              ? `No token with the id ${which.id} is in use. See \`token list\`.`
              : 'This token was not issued here, or is revoked already. If a file of tokens declares it, remove its line there.',
          );
        }
      });
    });

  token
    .command('generate')
    .description('print a new token that is valid nowhere yet, for AUTH_TOKENS_FILE')
    .action(() => {
      print(generateToken());
    });

  for (const name of ['issue', 'rotate', 'revoke']) {
    token.commands
      .find((command) => command.name() === name)
      ?.option('--actor <who>', 'who does it, for the audit log', defaultActor())
      .option('--reason <why>', 'why, for the audit log', 'not given');
  }
}

function attribution(command: Command): Attribution {
  const { actor, reason } = command.opts<Attribution>();
  return { actor: hideCredentials(actor), reason: hideCredentials(reason) };
}

/** The user of the operating system: containers often have a number only. */
function defaultActor(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
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

function lifetime(text: string): number {
  return duration(text, (milliseconds) => milliseconds > 0, '90d or 24h, or never');
}

function overlap(text: string): number {
  return duration(text, Number.isFinite, '24h or 7d, or 0h');
}

/** Milliseconds, infinitely many from `never`. */
function duration(text: string, isAllowed: (milliseconds: number) => boolean, examples: string): number {
  const milliseconds = text === 'never' ? Infinity : parseDuration(text);
  if (milliseconds === undefined || !isAllowed(milliseconds)) {
    throw new InvalidArgumentError(`Write a duration, like ${examples}.`);
  }
  return milliseconds;
}

/** A mistyped scope would make a token that nothing can be done with. */
function refuseUnknown(scopes: readonly string[], known: readonly string[]): void {
  const unknown = scopes.find((scope) => !known.includes(scope));
  if (unknown !== undefined) {
    throw new OperatorError(
      `There is no scope ${hideCredentials(unknown)}. There are ${[...new Set(known)].toSorted().join(', ')}.`,
    );
  }
}

/** What is given is never repeated in a message: it may be a token in the wrong place. */
function knownId(text: string): string {
  if (!isUuid(text)) {
    throw new OperatorError('An id looks like 0190163d-8694-739b-aea5-966c26f8ad91. See `token list`.');
  }
  return text;
}

function identify(text: string): { id: string } | { digest: Buffer } {
  if (isWellFormedToken(text)) {
    return { digest: digestOf(text) };
  }
  if (!isUuid(text)) {
    throw new OperatorError(
      'This is neither a token nor an id. An id looks like 0190163d-8694-739b-aea5-966c26f8ad91, see `token list`; a token is 42 characters long. ' +
        'A JWT ends where it was issued, or at its time.',
    );
  }
  return { id: text };
}

/** @throws OperatorError when the file at `AUTH_TOKENS_FILE` still accepts the token */
async function refuseDeclared(app: INestApplicationContext, digest: Buffer): Promise<void> {
  const { AUTH_TOKENS_FILE: path } = app.get(Configuration);
  if (path === undefined) {
    return;
  }
  const { tokens, faults } = (await readTokensFile(path)).parse();
  if (faults.length > 0) {
    throw new OperatorError(
      `The file ${path} of AUTH_TOKENS_FILE cannot be used here: see that it does not declare this token. In the database it is of no use any more.`,
    );
  }
  if (tokens.has(fingerprintOfDigest(digest))) {
    throw new OperatorError(`The file ${path} of AUTH_TOKENS_FILE declares this token: remove its line there.`);
  }
}

const COLUMNS = ['ID', 'NAME', 'TOKEN', 'CREATED', 'EXPIRES', 'LAST USED', 'REVOKED', 'SCOPES'];

function table(tokens: readonly AccessToken[]): string {
  return [COLUMNS, ...tokens.map(row)].map((fields) => fields.join('\t')).join('\n');
}

function row(accessToken: AccessToken): string[] {
  const { id, name, token, createdAt, expiresAt, lastUsedOn, revokedAt, scopes } = describe(accessToken);
  const dates = [createdAt.toISOString(), expiresAt?.toISOString(), lastUsedOn, revokedAt?.toISOString()];
  return [id, name, token, ...dates, scopes?.join(' ')].map((field) => field ?? '-');
}

/** What may be shown of a token. */
function describe({ id, name, lastFour, createdAt, expiresAt, lastUsedOn, revokedAt, replacedBy, scopes }: AccessToken) {
  return { id, name, token: shorten(lastFour), createdAt, expiresAt, lastUsedOn, revokedAt, replacedBy, scopes };
}
