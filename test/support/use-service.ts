import type { Service } from './service.js';

/** A service that starts before the tests of the file or block that calls this, and stops after them. */
export function useService<Started extends Service>(start: () => Promise<Started>): Started {
  const service = {} as Started;
  beforeAll(async () => {
    Object.assign(service, await start());
  });
  afterAll(() => service.stop());
  return service;
}
