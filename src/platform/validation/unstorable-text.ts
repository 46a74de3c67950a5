import type { InputFault } from './input-faults.js';

/**
 * The texts of a body that PostgreSQL cannot store byte for byte: those with U+0000 or a lone surrogate.
 *
 * @param value - parsed JSON, or a part of it
 */
export function unstorableTexts(value: unknown, path: readonly string[] = []): InputFault[] {
  if (typeof value === 'string') {
    const isStorable = !value.includes('\0') && value.isWellFormed();
    return isStorable ? [] : [{ path, code: 'character', detail: 'must not contain U+0000 or a lone surrogate' }];
  }
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return Object.entries(value).flatMap(([name, part]) => unstorableTexts(part, [...path, name]));
}
