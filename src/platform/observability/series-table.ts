import { type LabelSet, labelSetsOf, MOST_SERIES, type OpenLabelValues, OTHER } from './label-sets.js';

/** One time series of a metric. */
export interface Series<State> {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: State;
}

/** Leads from the value of one label to the next level, and from that of the last one to the series. */
type Level<State> = Map<string, Level<State> | Series<State>>;

/**
 * The time series of one metric, never more than {@link MOST_SERIES}, whatever is measured. Those whose labels are known
 * before are there from the start. Finding one takes a look-up for each label and allocates nothing.
 */
export class SeriesTable<Labels extends OpenLabelValues, State> {
  private readonly labelNames: readonly string[];
  private readonly root: Level<State> = new Map();
  private readonly series: Series<State>[] = [];

  /**
   * @param name - of the metric, for messages
   * @param create - what is kept for one series
   */
  constructor(
    name: string,
    private readonly labels: Labels,
    private readonly create: () => State,
  ) {
    this.labelNames = Object.keys(labels);
    for (const set of labelSetsOf(name, labels)) {
      this.of(set);
    }
  }

  /** What is kept for the series with these labels. Values that were not declared, and those that are too many, are one: `other`. */
  of(labels: LabelSet<Labels>): State {
    const set = labels as Readonly<Record<string, string>>;
    let level = this.root;
    for (let place = 0; ; place += 1) {
      const name = this.labelNames[place] ?? '';
      const next = level.get(set[name] ?? '');
      if (next === undefined) {
        return this.add(set).state;
      }
      if (!(next instanceof Map)) {
        return next.state;
      }
      level = next;
    }
  }

  /** All series, in the order in which they came. */
  all(): readonly Series<State>[] {
    return this.series;
  }

  private add(set: Readonly<Record<string, string>>): Series<State> {
    // The last place is kept for what finds none.
    const isFull = this.series.length >= MOST_SERIES - 1;
    const labels: Record<string, string> = {};
    for (const name of this.labelNames) {
      labels[name] = isFull ? OTHER : this.known(name, set[name] ?? OTHER);
    }
    let level = this.root;
    for (const name of this.labelNames.slice(0, -1)) {
      const value = labels[name] ?? OTHER;
      const next = level.get(value) ?? new Map<string, Level<State> | Series<State>>();
      level.set(value, next);
      level = next as Level<State>;
    }
    const last = labels[this.labelNames.at(-1) ?? ''] ?? '';
    const known = level.get(last);
    if (known && !(known instanceof Map)) {
      return known;
    }
    const series = { labels, state: this.create() };
    level.set(last, series);
    this.series.push(series);
    return series;
  }

  private known(label: string, value: string): string {
    const values = this.labels[label];
    return values === undefined || values === 'open' || values.includes(value) ? value : OTHER;
  }
}
