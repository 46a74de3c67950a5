/** How a run of the fuzz is made, from the environment: `FUZZ_REQUESTS`, `FUZZ_SEED`, and of a failure `FUZZ_PATH`. */
export interface Settings {
  /** Requests for the committed document, at least. */
  readonly requests: number;
  readonly seed: number;
  /** Leads fast-check straight to one failure, in the test that is named with `-t`. */
  readonly path: string | undefined;
}

const { FUZZ_REQUESTS, FUZZ_SEED, FUZZ_PATH } = process.env;

export const settings: Settings = {
  requests: Number(FUZZ_REQUESTS ?? 5000),
  // The same in every run, so that what fails was changed and not met by chance.
  seed: Number(FUZZ_SEED ?? 20_260_101),
  path: FUZZ_PATH,
};
