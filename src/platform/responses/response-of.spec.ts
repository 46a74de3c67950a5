import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsDate, IsOptional, IsString, Length, Matches, Max } from 'class-validator';
import { newId } from '../ids/id.js';
import { documentedProperties } from '../openapi/documented-properties.js';
import { ResponseOf } from './response-of.js';
import { Integer, Text } from '../validation/properties.decorators.js';

class Body {
  @Integer({ description: 'How many.', example: 1, minimum: 0, maximum: 9 })
  declare readonly count: number;

  @Text({ description: 'Anything else.', example: 'x', maximumLength: 3, optional: true })
  declare readonly note?: string | null;

  @ApiProperty({ type: String, format: 'date-time' })
  declare readonly due: Date;
}

class Shown extends ResponseOf(Body) {}

const row = { id: newId(), count: 0, due: new Date('2026-01-31T12:00:00Z') };

class RuledBody {
  @IsString()
  declare readonly name: string;

  @IsOptional()
  @IsDate()
  @Type(() => Date)
  declare readonly due?: Date | null;

  @IsOptional()
  @Matches(/^x/)
  declare readonly code?: string;

  @Max(9)
  declare readonly count: number;

  @ArrayMaxSize(2)
  @Length(1, 5, { each: true })
  declare readonly tags: string[];
}

class Ruled extends ResponseOf(RuledBody) {}

describe('a response class', () => {
  it('returns and documents properties that have rules of class-validator only', () => {
    expect(Ruled.from({ ...row, name: 'x', tags: [] })).toMatchObject({ name: 'x', due: '2026-01-31T12:00:00.000Z' });
    const { count, tags, ...others } = documentedProperties(Ruled);
    expect([count, tags]).toEqual([
      { type: 'number', isArray: false, required: true, description: '' },
      { type: 'string', isArray: true, required: true, description: '' },
    ]);
    expect(others).toMatchObject({
      name: { type: 'string', required: true },
      due: { type: 'string', format: 'date-time', required: false },
      code: { type: 'string', required: false },
    });
  });

  it('returns the properties of the request body, and no other column', () => {
    const { createdAt, ...shown } = Shown.from({ ...row, note: 'x', secret: 'y' } as typeof row & { note: string });
    expect(shown).toEqual({ id: row.id, count: 0, note: 'x', due: '2026-01-31T12:00:00.000Z' });
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(60_000);
  });

  it('requires a row with every required property of the body', () => {
    // @ts-expect-error the time is missing
    expect(Shown.from({ id: row.id, count: 5 })).not.toHaveProperty('due');
    // @ts-expect-error only optional properties can be null
    expect(Shown.from({ ...row, count: null })).not.toHaveProperty('count');
  });
});
