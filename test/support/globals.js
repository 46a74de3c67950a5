/** What tests import from `@jest/globals`. */
export const { jest } = globalThis;
