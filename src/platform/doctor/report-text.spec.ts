import { failed, ok, skipped, warning } from './check.js';
import type { Report } from './examine.js';
import { reportText } from './report-text.js';

const report: Report = {
  status: 'failed',
  checks: [
    { name: 'one', ...ok('well') },
    { name: 'number.two', ...warning('not well\nin two ways', 'mend this\nand that') },
    { name: 'three', ...failed('not at all', 'mend it') },
    { name: 'four', ...skipped('unset') },
  ],
};

it('is a line for each check, with what to mend below it', () => {
  expect(reportText(report, (_status, text) => text).split('\n')).toEqual([
    '✓ one         well',
    '! number.two  warning: not well',
    '              in two ways',
    '              → mend this',
    '              → and that',
    '✗ three       failed: not at all',
    '              → mend it',
    '- four        unset',
    '',
    '1 ok, 1 warning, 1 failed, 1 skipped',
  ]);
});

it('is painted by status', () => {
  const painted = reportText(report, (status, text) => (text === '' ? '' : `<${status}>${text}</>`));
  expect(painted).toContain('<ok>✓ one       </>  well');
  expect(painted).toContain('<failed>✗ three     </>  <failed>failed: </>not at all');
});
