import { validateHeaderName, validateHeaderValue } from 'node:http';
import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsOptional } from 'class-validator';
import { Rule } from '../validation/rule.js';
import { parseKeyValues } from './key-values.js';
import { Secret } from './secret.decorator.js';

/** The base URL of a collector, which may be left out. */
export function CollectorUrl(): PropertyDecorator {
  return applyDecorators(
    Secret(),
    IsOptional(),
    Rule(
      'url',
      'must be a URL like https://collector:4318, without query and fragment',
      (value) => typeof value === 'string' && isCollectorUrl(value),
    ),
  );
}

/** `name=value` pairs, separated by commas, that may be left out. */
export function KeyValues(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    Rule(
      'pairs',
      'must be pairs like name=value, separated by commas, special characters percent-encoded',
      (value) => typeof value === 'string' && parseKeyValues(value) !== undefined,
    ),
  );
}

/** HTTP headers as `name=value` pairs, which may be left out. */
export function HeaderPairs(): PropertyDecorator {
  return applyDecorators(
    Secret(),
    KeyValues(),
    Rule(
      'headers',
      'must be names and values of HTTP headers',
      (value) => typeof value !== 'string' || Object.entries(parseKeyValues(value) ?? {}).every(isHeader),
    ),
  );
}

/** A part of all, from 0 to 1, as decimal text. */
export function Ratio(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' && /^(?:0|1|0?\.[0-9]{1,9}|[01]\.[0-9]{1,9})$/.test(value) ? Number(value) : value,
    ),
    Rule('range', 'must be a number from 0 to 1', (value) => typeof value === 'number' && value >= 0 && value <= 1),
  );
}

function isCollectorUrl(text: string): boolean {
  const { protocol = '', search = '', hash = '' } = URL.parse(text) ?? {};
  return /^https?:$/.test(protocol) && !/[?#]/.test(text) && search + hash === '';
}

function isHeader([name, value]: [string, string]): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
