import { Bool, Integer, OneOf, Text, Timestamp, Uuid } from './properties.decorators.js';
import { validateInput } from './validate-input.js';

const description = 'For the test.';
const SIZES = ['small', 'large'] as const;

class Body {
  @Integer({ description, example: 1, minimum: -5, maximum: 2_147_483_647 })
  declare readonly count: number;

  @OneOf({ description, example: 'small', values: SIZES })
  declare readonly size: (typeof SIZES)[number];

  @Bool({ description, example: true })
  declare readonly active: boolean;

  @Uuid({ description, example: '0190163d-8694-739b-aea5-966c26f8ad91' })
  declare readonly owner: string;

  @Timestamp({ description, example: '2026-01-31T12:00:00Z' })
  declare readonly due: Date;

  @Text({ description, example: 'x', maximumLength: 3, optional: true })
  declare readonly note?: string | null;

  @Timestamp({ description, example: '2026-01-31T12:00:00Z', optional: true })
  declare readonly ended?: Date | null;
}

const valid = {
  count: 5,
  size: 'large',
  active: false,
  owner: '0190163D-8694-739B-AEA5-966C26F8AD91',
  due: '2026-01-31T12:00:00.5+01:00',
};

describe('a body', () => {
  it('becomes what its class says', () => {
    expect(validateInput(Body, { ...valid, note: null, ended: null })).toEqual({
      value: { ...valid, owner: valid.owner.toLowerCase(), due: new Date('2026-01-31T11:00:00.500Z'), note: null, ended: null },
      faults: [],
    });
  });

  it.each(['00000000-0000-0000-0000-000000000006', 'DEADBEEF-DEAD-FEED-CAFE-DEADBEEFCAFE'])(
    'has UUIDs of whatever version: %s',
    (owner) => {
      expect(validateInput(Body, { ...valid, owner })).toMatchObject({ value: { owner: owner.toLowerCase() }, faults: [] });
    },
  );

  it('names what is missing, all of it', () => {
    const { faults } = validateInput(Body, {});
    expect(faults).toEqual(
      ['count', 'size', 'active', 'owner', 'due'].map((name) => ({ path: [name], code: 'required', detail: 'is required' })),
    );
  });

  it.each<[keyof Body, unknown[], string]>([
    ['count', ['5', 5.5, null, true, [5], Infinity], 'type'],
    ['count', [-6, 2_147_483_648, -(2 ** 60)], 'range'],
    ['size', ['medium', 'Small', '', 5, null, ['small']], 'type'],
    ['active', ['true', 1, null, 'yes'], 'type'],
    ['owner', ['x', '0190163d8694739baea5966c26f8ad91', 5, null, `${valid.owner} `], 'type'],
    ['due', ['2026-01-31', '2026-01-31T12:00:00', '2026-02-30T12:00:00Z', '2026-01-31T12:00:00.0001Z', 5, null], 'type'],
    ['note', [5, false, {}], 'type'],
    ['note', ['four'], 'too_long'],
    ['note', ['\0', '\ud800'], 'character'],
    ['ended', ['soon', 5], 'type'],
  ])('refuses for %s %j', (name, values, code) => {
    for (const value of values) {
      const { faults } = validateInput(Body, { ...valid, [name]: value });
      expect(faults).toMatchObject([{ path: [name], code }]);
    }
  });

  it('needs bounds that JSON can carry', () => {
    expect(() => Integer({ description, example: 1, minimum: 0, maximum: 2 ** 53 })).toThrow('choose closer bounds');
  });
});
