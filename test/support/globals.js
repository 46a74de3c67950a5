/** Of the test file that runs, also for packages, which are loaded once for several. @param {string} name */
const current = (name) => {
  const value = () => /** @type {() => unknown} */ (Reflect.get(globalThis, name));
  return new Proxy(() => undefined, {
    apply: (_, self, /** @type {unknown[]} */ values) => /** @type {unknown} */ (Reflect.apply(value(), self, values)),
    get: (_, property) => /** @type {unknown} */ (Reflect.get(value(), property)),
  });
};

// What tests, and packages that make mocks, import from `@jest/globals`.
export const afterAll = current('afterAll');
export const afterEach = current('afterEach');
export const beforeAll = current('beforeAll');
export const beforeEach = current('beforeEach');
export const describe = current('describe');
export const expect = current('expect');
export const fdescribe = current('fdescribe');
export const fit = current('fit');
export const it = current('it');
export const jest = current('jest');
export const test = current('test');
export const xdescribe = current('xdescribe');
export const xit = current('xit');
export const xtest = current('xtest');
