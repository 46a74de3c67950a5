import { duplicateName } from './duplicate-name.ts';

const imports = `import { Controller, Get } from '@nestjs/common';
import { Lists, type Page } from '../platform/index.js';
import {
  First,
  type Second,
} from './long.js';
`;

it.each([
  ['a class that is imported', 'export class Page {}', 'Page'],
  ['a class that is imported over several lines', 'class Second {}', 'Second'],
  ['an import that there is', "import { Get } from './get.entity.js';", 'Get'],
  ['an import of a type that there is', "import type { Lists } from './lists.entity.js';", 'Lists'],
])('finds %s', (_case, line, name) => {
  expect(duplicateName(imports + line)).toBe(name);
});

it('finds none where names only resemble each other', () => {
  expect(duplicateName(`${imports}export class PageDto {}\nclass ListsController {}`)).toBeUndefined();
});
