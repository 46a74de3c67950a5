import { InvalidArgumentError } from 'commander';
import { hideCredentials } from '../errors/redaction.js';
import { OperatorError } from '../errors/operator-error.js';
import { isUuid } from '../ids/id.js';
import { parseDuration } from '../time/duration.js';
import { isTokenName, TOKEN_NAME_RULE } from './token-format.js';
import { parseTokenLimit, TOKEN_LIMIT_RULE } from './token-limit.js';

export const DURATION = 'a duration such as 90d, 24h or 30m';

export function tokenName(text: string): string {
  if (!isTokenName(text)) {
    throw new InvalidArgumentError(`Write ${TOKEN_NAME_RULE}.`);
  }
  if (hideCredentials(text) !== text) {
    throw new InvalidArgumentError('This is a token, and names are listed and logged: choose another name.');
  }
  return text;
}

export function tokenLimit(text: string): number {
  const limit = parseTokenLimit(text);
  if (limit === undefined) {
    throw new InvalidArgumentError(`Write ${TOKEN_LIMIT_RULE}.`);
  }
  return limit;
}

/** Makes a parser of durations to milliseconds, `never` to `Infinity`. @param special - what else is valid, in messages */
export function durationParser(special: string, isAllowed: (milliseconds: number) => boolean): (text: string) => number {
  return (text) => {
    const milliseconds = text === 'never' ? Infinity : parseDuration(text);
    if (milliseconds === undefined || !isAllowed(milliseconds)) {
      throw new InvalidArgumentError(`Write ${DURATION}, ${special}.`);
    }
    return milliseconds;
  };
}

/** Parses an id. The error does not repeat the text, which may be a mistyped token. */
export function tokenId(text: string): string {
  if (!isUuid(text)) {
    throw new OperatorError(
      'This is neither a token nor an id. An id looks like 0190163d-8694-739b-aea5-966c26f8ad91, see `token list`.',
    );
  }
  return text;
}
