import { spawnSync } from 'node:child_process';
import type { Rule } from '@angular-devkit/schematics';
import type { Names } from '../feature/names.ts';

/** Has `npm run openapi` describe the feature that was just written, and says what is next. */
export function openapi({ plural, singular }: Names): Rule {
  return (_tree, { logger }) => {
    const { status } = spawnSync('npm', ['run', '--silent', 'openapi'], {
      stdio: 'inherit',
      shell: process.platform === 'win32',
    });
    if (status !== 0) {
      throw new Error('The feature is written, but openapi.json is not: fix the error above, then `npm run openapi`.');
    }
    logger.info(`openapi.json describes it. One of the ${plural} is called ${singular}.`);
    logger.info(`Next, its fields: in src/${plural}/${singular}.entity.ts, src/${plural}/${plural}.dto.ts and the migration.`);
    logger.info(`Then: npm run openapi && npm test -- ${plural}`);
  };
}
