/** The labels of a metric, each with all the values that it can have. A list may still grow. */
export type LabelValues = Readonly<Record<string, readonly string[]>>;

/** The same, where `open` marks a label whose values are not known before, and yet are few. */
export type OpenLabelValues = Readonly<Record<string, readonly string[] | 'open'>>;

/** One value for each label. */
export type LabelSet<Labels extends OpenLabelValues> = {
  readonly [Label in keyof Labels]: Labels[Label] extends readonly (infer Value)[] ? Value : string;
};

/** What stands for a value that nobody declared, or that came when a metric had enough of them. */
export const OTHER = 'other';

/** Time series that one metric has at most: each costs memory here and at Prometheus for as long as the process runs. */
export const MOST_SERIES = 1000;

/**
 * Every combination of the values of some labels; none if the values of one are open.
 *
 * @param name - of the metric, for the message
 * @throws Error when there are too many
 */
export function labelSetsOf<Labels extends OpenLabelValues>(name: string, labels: Labels): LabelSet<Labels>[] {
  let sets: Record<string, string>[] = [{}];
  for (const [label, values] of Object.entries(labels)) {
    sets = values === 'open' ? [] : sets.flatMap((set) => values.map((value) => Object.assign({}, set, { [label]: value })));
    if (sets.length > MOST_SERIES) {
      throw new Error(`The labels of the metric ${name} have more than ${MOST_SERIES} combinations: leave one out.`);
    }
  }
  return sets as LabelSet<Labels>[];
}
