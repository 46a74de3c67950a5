import { Controller, Get, Module, Query } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { ApiProperty } from '@nestjs/swagger';
import { Column, Entity, PrimaryColumn, DataSource, Repository } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import {
  defineFilter,
  Lists,
  MigrationsModule,
  mapPage,
  Operation,
  type Page,
  PageOf,
  PageQueryOf,
  RequireScopes,
  Section,
  SqlMigration,
} from '../../src/platform/index.js';

// A list of another team, with a field of every type that filters know, once as it is and once nullable.

export const SIZES = ['small', 'medium', 'large'] as const;
export const COLORS = ['red', 'dark blue', `"'`] as const;

@Entity('samples')
export class Sample {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare name: string;

  @Column('text', { nullable: true })
  declare description: string | null;

  @Column('int')
  declare count: number;

  @Column('smallint', { nullable: true })
  declare rank: number | null;

  @Column('double precision')
  declare weight: number;

  @Column('float8', { nullable: true })
  declare height: number | null;

  @Column()
  declare active: boolean;

  @Column('bool', { nullable: true })
  declare approved: boolean | null;

  @Column('text')
  declare size: (typeof SIZES)[number];

  @Column('varchar', { nullable: true })
  declare color: (typeof COLORS)[number] | null;

  @Column('timestamptz', { name: 'seen_at' })
  declare seenAt: Date;

  @Column('timestamp with time zone', { name: 'left_at', nullable: true })
  declare leftAt: Date | null;
}

export class CreateSamples1767225800000 extends SqlMigration {
  readonly statements = [
    `CREATE TABLE samples (
      id uuid PRIMARY KEY,
      name text NOT NULL,
      description text,
      count int NOT NULL,
      rank smallint,
      weight double precision NOT NULL,
      height double precision,
      active boolean NOT NULL,
      approved boolean,
      size text NOT NULL,
      color varchar,
      seen_at timestamptz NOT NULL,
      left_at timestamptz
    )`,
    ...['count', 'rank', 'weight', 'height', 'active', 'approved', 'size', 'color', 'seen_at', 'left_at'].map(
      (column) => `CREATE INDEX samples_${column}_idx ON samples (${column})`,
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
  { 'Large and active': 'size == "large" && active' },
);

class SamplesQuery extends PageQueryOf(sampleFilter) {}

class SampleDto {
  @ApiProperty({ type: String, description: 'Identifier.', example: '0190163d-8694-739b-aea5-966c26f8ad91' })
  declare readonly id: string;
}

class SamplePage extends PageOf(SampleDto) {}

@Section({ title: 'Samples', description: 'What the tests call.' })
@Controller('samples')
@RequireScopes('samples')
class SamplesController {
  constructor(
    @InjectRepository(Sample) private readonly samples: Repository<Sample>,
    private readonly lists: Lists,
  ) {}

  @Get()
  @Operation({ summary: 'List samples', answer: SamplePage, answerDescription: 'One page of samples.' })
  async listSamples(@Query() query: SamplesQuery): Promise<Page<SampleDto>> {
    return mapPage(await this.lists.findPage(this.samples, query), ({ id }) => ({ id }));
  }
}

@Module({
  imports: [AppModule, TypeOrmModule.forFeature([Sample]), MigrationsModule.forFeature([CreateSamples1767225800000])],
  controllers: [SamplesController],
})
export class SamplesModule {}

/** A sample as it is stored: times are text, because a `Date` has no microseconds. */
export type SampleRow = Omit<Sample, 'seenAt' | 'leftAt'> & { seenAt: string; leftAt: string | null };

export async function insertSamples({ manager }: DataSource, rows: readonly SampleRow[]): Promise<void> {
  for (const row of rows) {
    const values = [
      row.id,
      row.name,
      row.description,
      row.count,
      row.rank,
      row.weight,
      row.height,
      row.active,
      row.approved,
      row.size,
      row.color,
      row.seenAt,
      row.leftAt,
    ];
    await manager.query(`INSERT INTO samples VALUES (${values.map((_, index) => `$${index + 1}`).join()})`, values);
  }
}
