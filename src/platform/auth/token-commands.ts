import { hostname } from 'node:os';
import { text as textOf } from 'node:stream/consumers';
import type { INestApplicationContext } from '@nestjs/common';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { Configuration } from '../config/configuration.js';
import { OperatorError } from '../errors/operator-error.js';
import { isUuid } from '../ids/id.js';
import { dateIn, parseDuration } from '../time/duration.js';
import type { AccessToken } from './access-token.entity.js';
import type { AccessTokensService } from './access-tokens.service.js';
import type { Attribution } from './audit-log.js';
import { generateToken, isTokenName, isWellFormedToken, TOKEN_NAME_RULE } from './token-format.js';
import { hideCredentials } from '../errors/redaction.js';
import { parseTokenLimit, TOKEN_LIMIT_RULE, tokenLimitFault } from './token-limit.js';
import { describeToken, minuteOf, tableOf } from './token-table.js';

type IssueOptions = Attribution & { name?: string; expires: number; scope: string[] | null; limit: number | null };
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
  const limitOption = new Option('--limit <requests>', `requests in RATE_LIMIT_WINDOW: ${TOKEN_LIMIT_RULE}`).argParser(
    tokenLimit,
  );

  attributed(
    token
      .command('issue')
      .description('issue a token; only the token goes to standard output, and it cannot be displayed again')
      // `requiredOption` would report a misspelled `--nmae` as a missing `--name`.
      .option('--name <name>', 'required: name of the token in `token list`', tokenName)
      .addOption(new Option('--expires <duration>', expiry).argParser(lifetime).default(Infinity, 'never'))
      .addOption(scopeOption.default(null, 'all'))
      .addOption(limitOption.default(null, 'RATE_LIMIT')),
  ).action(async ({ name, expires, scope, limit: rateLimit, ...by }: IssueOptions, command: Command) => {
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
      const limitFault = tokenLimitFault(rateLimit, app.get(Configuration));
      if (limitFault !== undefined) {
        throw new OperatorError(`The token ${limitFault}.`);
      }
      const scopes = scope && [...new Set(scope)];
      const issued = await tokens.issue({ name, expiresAt: dateIn(expires), scopes, rateLimit }, by);
      print(issued.token);
      print(issuedText(issued.row), process.stderr);
    });
  });

  token
    .command('list')
    .description('list all tokens, the oldest first')
    .option('--json', 'print a JSON array instead of a table')
    .action(async ({ json = false }: { json?: boolean }) => {
      const tokens = (await withTokens((service) => service.list())).map(describeToken);
      print(json ? JSON.stringify(tokens, null, 2) : tableOf(tokens));
      if (tokens.length === 0) {
        print('There are no tokens. Create one with `token issue --name <name>`.', process.stderr);
      }
    });

  attributed(
    token
      .command('rotate')
      .description(
        'issue a token that replaces another, with its name, scopes and limit; only the new token goes to standard output',
      )
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

function tokenLimit(text: string): number {
  const limit = parseTokenLimit(text);
  if (limit === undefined) {
    throw new InvalidArgumentError(`Write ${TOKEN_LIMIT_RULE}.`);
  }
  return limit;
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

function issuedText({ id, name, expiresAt, rateLimit }: Pick<AccessToken, 'id' | 'name' | 'expiresAt' | 'rateLimit'>): string {
  const limit = rateLimit === null ? '' : `, limit ${rateLimit}`;
  return `Issued token ${id} "${name}", ${validity(expiresAt)}${limit}. It cannot be displayed again.`;
}

function validity(expiresAt: Date | null): string {
  if (expiresAt === null) {
    return 'valid until it is revoked';
  }
  return expiresAt.getTime() > Date.now() ? `valid until ${minuteOf(expiresAt)}` : 'no longer valid';
}

function print(text: string, stream: NodeJS.WriteStream = process.stdout): void {
  stream.write(`${text}\n`);
}
