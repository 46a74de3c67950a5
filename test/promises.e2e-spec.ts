import { Body, Controller, Get, HttpStatus, Module, Param, Post, Query } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn, Repository } from 'typeorm';
import {
  AnswerOf,
  Idempotent,
  Lists,
  MigrationsModule,
  mapPage,
  notFound,
  Operation,
  type Page,
  PageOf,
  PageQuery,
  Problem,
  RequireScopes,
  SqlMigration,
  Text,
  Uuid,
} from '../src/platform/index.js';
import { Widget } from './fixtures/widgets/widget.entity.js';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import { describePromises, type Row } from './support/promises.js';
import { SamplesModule } from './support/samples.js';

@Entity('reviews')
class Review {
  @PrimaryColumn('uuid') declare id: string;
  @Column('uuid', { name: 'widget_id' }) declare widgetId: string;
  @Column('text') declare text: string;
}

class CreateReviews1795219200002 extends SqlMigration {
  readonly statements = [
    'CREATE TABLE reviews (id uuid PRIMARY KEY, widget_id uuid NOT NULL REFERENCES widgets (id), text text NOT NULL)',
  ];
}

const uuid = { description: 'Identifier.', example: '0190163d-8694-739b-aea5-966c26f8ad91' };

class ReviewsPath {
  @Uuid(uuid) declare readonly widgetId: string;
}

class ReviewPath extends ReviewsPath {
  @Uuid(uuid) declare readonly id: string;
}

class CreateReviewDto {
  @Text({ description: 'What it says.', example: 'It fits.', maximumLength: 100 }) declare readonly text: string;
}

class ReviewDto extends AnswerOf(CreateReviewDto) {}
class ReviewPage extends PageOf(ReviewDto) {}

/** A collection of each widget. */
@Controller('widgets/:widgetId/reviews')
@RequireScopes('reviews')
class ReviewsController {
  constructor(
    @InjectRepository(Widget) private readonly widgets: Repository<Widget>,
    @InjectRepository(Review) private readonly reviews: Repository<Review>,
    private readonly lists: Lists,
  ) {}

  @Get()
  @Operation({ summary: 'List reviews', response: ReviewPage })
  async listReviews(@Param() { widgetId }: ReviewsPath, @Query() query: PageQuery): Promise<Page<ReviewDto>> {
    found(await this.widgets.findOneBy({ id: widgetId }));
    return mapPage(await this.lists.findPage(this.reviews, query), ReviewDto.from);
  }

  @Post()
  @Idempotent()
  @Operation({ summary: 'Create a review', response: ReviewDto, status: HttpStatus.CREATED })
  async createReview(@Param() { widgetId }: ReviewsPath, @Body() { text }: CreateReviewDto): Promise<ReviewDto> {
    found(await this.widgets.findOneBy({ id: widgetId }));
    return ReviewDto.from(await this.lists.add(this.reviews, { text, widgetId }));
  }

  @Get(':id')
  @Operation({ summary: 'Get a review', response: ReviewDto })
  async getReview(@Param() { widgetId, id }: ReviewPath): Promise<ReviewDto> {
    return ReviewDto.from(found(await this.reviews.findOneBy({ widgetId, id })));
  }
}

function found<T>(row: T | null): T {
  if (row === null) {
    throw new Problem(notFound, 'There is nothing with this path.');
  }
  return row;
}

@Module({
  imports: [
    SamplesModule,
    WidgetsModule,
    TypeOrmModule.forFeature([Review, Widget]),
    MigrationsModule.forFeature([CreateReviews1795219200002]),
  ],
  controllers: [ReviewsController],
})
class OtherTeamsModule {}

const { FUZZ_REQUESTS = '5000' } = process.env;
const other = { root: OtherTeamsModule, requests: Number(FUZZ_REQUESTS) / 8 };

describePromises('/v1/items', { requests: Number(FUZZ_REQUESTS) });
// What the platform gives to modules of other teams: constraints that the items do not have, rows that change, nested collections.
describePromises('/v1/widgets', other);
describePromises('/v1/samples', other);
describePromises('/v1/widgets/{widgetId}/reviews', {
  ...other,
  body: (count) => ({ text: `Review ${count}` }),
  order: (a: Row, b: Row) => Date.parse(String(b['createdAt'])) - Date.parse(String(a['createdAt'])),
  at: async (api) => {
    const body = JSON.stringify({ name: 'Reviewed', price: 1, size: 'small' });
    const widget = await api.call<Row>('POST', '/v1/widgets', { body, headers: { 'Content-Type': 'application/json' } });
    return `/v1/widgets/${widget.body.id}/reviews`;
  },
});
