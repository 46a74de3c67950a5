import { Body, Controller, Get, HttpStatus, Module, Param, Post, Query } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { IsBoolean, IsOptional } from 'class-validator';
import { Column, DataSource, Entity, PrimaryColumn, Repository } from 'typeorm';
import { ItemsModule } from '../../src/items/items.module.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import {
  ResponseOf,
  defineFilter,
  Idempotent,
  Integer,
  Lists,
  MigrationsModule,
  mapPage,
  OneOf,
  Operation,
  type Page,
  PageOf,
  PageQueryOf,
  RequireScopes,
  ApiTag,
  SqlMigration,
  Text,
  Uuid,
} from '../../src/platform/index.js';

// A module of another team, with a field of every type that filters know and a property for every rule, nullable and not.

export const SIZES = ['small', 'medium', 'large'] as const;
export const COLORS = ['red', 'dark blue', `"'`] as const;

@Entity('sample_rows')
export class Sample {
  @PrimaryColumn('uuid') declare id: string;
  @Column('text') declare name: string;
  @Column('text', { nullable: true }) declare description: string | null;
  @Column('int') declare count: number;
  @Column('smallint', { nullable: true }) declare rank: number | null;
  @Column('double precision') declare weight: number;
  @Column('float8', { nullable: true }) declare height: number | null;
  @Column() declare active: boolean;
  @Column('bool', { nullable: true }) declare approved: boolean | null;
  @Column('text') declare size: (typeof SIZES)[number];
  @Column('varchar', { nullable: true }) declare color: (typeof COLORS)[number] | null;
  @Column('timestamptz', { name: 'seen_at' }) declare seenAt: Date;
  @Column('timestamp with time zone', { name: 'left_at', nullable: true }) declare leftAt: Date | null;
  @Column('uuid', { nullable: true }) declare sender: string;
  @Column('uuid', { nullable: true }) declare receiver: string | null;
}

class CreateSamples1767225800000 extends SqlMigration {
  readonly statements = [
    `CREATE TABLE sample_rows (
      id uuid PRIMARY KEY,
      name text NOT NULL,
      description text,
      count int NOT NULL,
      rank smallint,
      weight double precision NOT NULL DEFAULT 0,
      height double precision,
      active boolean NOT NULL,
      approved boolean,
      size text NOT NULL,
      color varchar,
      seen_at timestamptz NOT NULL,
      left_at timestamptz,
      sender uuid,
      receiver uuid
    )`,
    ...['count', 'rank', 'weight', 'height', 'active', 'approved', 'size', 'color', 'seen_at', 'left_at'].map(
      (column) => `CREATE INDEX samples_${column}_idx ON sample_rows (${column})`,
    ),
  ];
}

export const sampleFilter = defineFilter(
  Sample,
  {
    id: { type: 'uuid' },
    name: { type: 'string', unindexed: 'the samples are few' },
    description: { type: 'string', nullable: true, unindexed: 'the samples are few' },
    count: { type: 'int', indexes: ['samples_count_idx'] },
    rank: { type: 'int', nullable: true, indexes: ['samples_rank_idx'] },
    weight: { type: 'double', indexes: ['samples_weight_idx'] },
    height: { type: 'double', nullable: true, indexes: ['samples_height_idx'] },
    active: { type: 'bool', indexes: ['samples_active_idx'] },
    approved: { type: 'bool', nullable: true, indexes: ['samples_approved_idx'] },
    size: { type: 'enum', values: SIZES, indexes: ['samples_size_idx'] },
    color: { type: 'enum', values: COLORS, nullable: true, indexes: ['samples_color_idx'] },
    seenAt: { type: 'timestamp', indexes: ['samples_seen_at_idx'] },
    leftAt: { type: 'timestamp', nullable: true, indexes: ['samples_left_at_idx'] },
    createdAt: { type: 'creationTime' },
  },
  { 'Large and active': 'size == "large" && active', 'Many of them': 'count >= 1000' },
);

const description = 'For the tests.';
const example = '0190163d-8694-739b-aea5-966c26f8ad91';
const optional = { description, required: false, nullable: true };

class CreateSampleDto {
  @Text({ description, example: 'Bell', maximumLength: 20, notBlank: true }) declare readonly name: string;
  @Text({ description, example: 'Mind it.', maximumLength: 50, optional: true }) declare readonly description?:
    string | null;
  @Integer({ description, example: 5, minimum: -5, maximum: 2_147_483_647 }) declare readonly count: number;
  @Integer({ description, example: 5, minimum: 0, maximum: 9, optional: true }) declare readonly rank?: number | null;
  @ApiProperty({ description, example: true }) @IsBoolean() declare readonly active: boolean;
  @ApiProperty({ ...optional, type: Boolean, example: true })
  @IsOptional()
  @IsBoolean()
  declare readonly approved?: boolean | null;
  @OneOf({ description, example: 'small', values: SIZES }) declare readonly size: Sample['size'];
  @OneOf({ description, example: 'red', values: COLORS, optional: true }) declare readonly color?: Sample['color'];
  @Uuid({ description, example }) declare readonly sender: string;
  @Uuid({ description, example, optional: true }) declare readonly receiver?: string | null;
}

class SampleDto extends ResponseOf(CreateSampleDto) {}
class SamplePage extends PageOf(SampleDto) {}
class SamplesQuery extends PageQueryOf(sampleFilter) {}

class SamplePath {
  @Uuid({ description, example }) declare readonly id: string;
}

@ApiTag({ name: 'Samples', description: 'What the tests call.' })
@Controller('samples')
@RequireScopes('samples')
class SamplesController {
  constructor(
    @InjectRepository(Sample) private readonly samples: Repository<Sample>,
    private readonly lists: Lists,
  ) {}

  @Get()
  @Operation({ summary: 'List samples', response: SamplePage })
  async listSamples(@Query() query: SamplesQuery): Promise<Page<SampleDto>> {
    return mapPage(await this.lists.findPage(this.samples, query), SampleDto.from);
  }

  @Post()
  @Idempotent()
  @Operation({ summary: 'Create a sample', response: SampleDto, status: HttpStatus.CREATED })
  async createSample(@Body() body: CreateSampleDto): Promise<SampleDto> {
    return SampleDto.from(await this.lists.insert(this.samples, Object.assign(body, { weight: 0, seenAt: new Date() })));
  }

  @Get(':id')
  @Operation({
    summary: 'Get a sample',
    response: SampleDto,
    deprecated: { since: '2026-01-31', sunset: '2027-01-31', use: '/v1/samples' },
  })
  async getSample(@Param() { id }: SamplePath): Promise<SampleDto> {
    return SampleDto.from(await this.samples.findOneByOrFail({ id }));
  }
}

@Module({
  imports: [
    PlatformModule,
    ItemsModule,
    TypeOrmModule.forFeature([Sample]),
    MigrationsModule.forFeature([CreateSamples1767225800000]),
  ],
  controllers: [SamplesController],
})
export class SamplesModule {}

/** A sample as it is stored: times are text, because a `Date` has no microseconds. */
export type SampleRow = Omit<Sample, 'seenAt' | 'leftAt' | 'sender' | 'receiver'> & {
  seenAt: string;
  leftAt: string | null;
};

export async function insertSamples({ manager }: DataSource, rows: readonly SampleRow[]): Promise<void> {
  for (const fields of rows) {
    const row = { ...fields, sender: example };
    const columns = Object.keys(row).map((name) => name.replace(/[A-Z]/, (letter) => `_${letter.toLowerCase()}`));
    const values = columns.map((_, index) => `$${index + 1}`);
    await manager.query(`INSERT INTO sample_rows (${columns.join()}) VALUES (${values.join()})`, Object.values(row));
  }
}
