import type { ArgumentMetadata, Type } from '@nestjs/common';
import { MAXIMUM_FAULTS } from '../problems/problem.js';
import type { InputFault } from './input-faults.js';
import { RequestValidationPipe } from './request-validation.pipe.js';
import { isObject } from './rule.js';

/** Validates the elements of a body that is an array. */
export class ItemsPipe extends RequestValidationPipe {
  constructor(private readonly items: Type<object>) {
    super();
  }

  /** Stops at the first element after which `faults` has as many as a response reports. */
  protected override async transformInput(
    value: unknown,
    metadata: ArgumentMetadata,
    faults: InputFault[],
  ): Promise<unknown> {
    if (metadata.type !== 'body' || !Array.isArray(value)) {
      return value;
    }
    const items: unknown[] = [];
    for (const [index, item] of value.entries()) {
      const own: InputFault[] = [];
      if (isObject(item)) {
        items.push(await super.transformInput(item, { ...metadata, metatype: this.items }, own));
      } else {
        own.push({ path: [], code: 'type', detail: 'must be an object' });
      }
      for (const fault of own) faults.push({ ...fault, path: [String(index), ...fault.path] });
      if (faults.length >= MAXIMUM_FAULTS) {
        break;
      }
    }
    return items;
  }
}
