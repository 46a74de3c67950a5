import { ArrayMaxSize, IsArray, IsInt, IsString } from 'class-validator';
import { documentedProperties, documentRules } from './documented-properties.js';

class Tags {
  @IsArray()
  @ArrayMaxSize(5)
  declare tags: unknown[];

  @IsString({ each: true })
  declare names: string[];

  @IsInt()
  declare count: number;
}

it('documents the types that the decorators of class-validator imply', () => {
  documentRules(Tags);
  expect(documentedProperties(Tags)).toMatchObject({
    tags: { type: 'array', items: {} },
    names: { type: 'string', isArray: true },
    count: { type: 'integer', isArray: false },
  });
});
