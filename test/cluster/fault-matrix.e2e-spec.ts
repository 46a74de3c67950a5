import { commitFaults } from '../support/fault-matrix/faults.js';
import { documentedMatrix, isInTime, OPERATIONS, printed, type RowResult } from '../support/fault-matrix/matrix.js';

const matrix = documentedMatrix();
const results = new Map<string, RowResult>();

let errors: unknown[];

beforeAll(async () => {
  errors = await commitFaults(results);
}, 1_200_000);

afterAll(() =>
  process.stdout.write(
    printed(
      matrix.map(({ fault }) => fault),
      results,
    ),
  ),
);

it('has a row in the documentation for each failure', () => {
  expect(errors).toEqual([]);
  expect(matrix.map(({ fault }) => fault).toSorted()).toEqual([...results.keys()].toSorted());
});

describe.each(matrix)('$fault', ({ fault, outcomes }) => {
  it.each(OPERATIONS)('%s has the documented outcome in time', (operation) => {
    const observed = results.get(fault)?.cells[operation];
    expect(observed?.outcome).toBe(outcomes[operation]);
    expect(observed && isInTime(operation, observed)).toBe(true);
  });

  it('loses and doubles nothing, and is followed by recovery', () => {
    expect(results.get(fault)?.wrong).toEqual([]);
  });
});
