import { ApiProperty } from '@nestjs/swagger';
import { newId } from '../ids/id.js';
import { AnswerOf } from './answer-of.js';
import { Integer, Text } from '../validation/properties.decorators.js';

class Body {
  @Integer({ description: 'How many.', example: 1, minimum: 0, maximum: 9 })
  declare readonly count: number;

  @Text({ description: 'Anything else.', example: 'x', maximumLength: 3, optional: true })
  declare readonly note?: string | null;

  @ApiProperty({ type: String, format: 'date-time' })
  declare readonly due: Date;
}

class Shown extends AnswerOf(Body) {}

const row = { id: newId(), count: 0, due: new Date('2026-01-31T12:00:00Z') };

describe('a response class', () => {
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
