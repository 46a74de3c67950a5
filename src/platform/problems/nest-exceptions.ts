import * as nest from '@nestjs/common';
import { ThrottlerException } from '@nestjs/throttler';

const EXPORTS: unknown[] = Object.values(nest);

const EXCEPTIONS = [...EXPORTS.filter(isException), ThrottlerException];

function isException(value: unknown): value is nest.Type<nest.HttpException> {
  return typeof value === 'function' && value.prototype instanceof nest.HttpException;
}

/** By status, prototypes of errors that have the members of a class and are instances of Nest's exception of that status. */
export function prototypesByStatus(members: nest.HttpException): ReadonlyMap<number, object> {
  const descriptors = Object.getOwnPropertyDescriptors(members);
  const prototypeOf = ({ prototype }: { prototype: object }) => Object.create(prototype, descriptors) as object;
  return new Map(EXCEPTIONS.map((exception) => [new exception().getStatus(), prototypeOf(exception)]));
}
