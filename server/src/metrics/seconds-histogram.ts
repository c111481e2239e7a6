import { Histogram, type Registry } from "prom-client";

export interface SecondsHistogramOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly label: Label;
  /** Upper bounds of the buckets, in seconds, ascending. */
  readonly bounds: readonly number[];
  readonly registry: Registry;
}

/**
 * A histogram with one label that counts by itself: prom-client builds a key from the labels at each observation, which adds
 * measurably to the CPU time of a request.
 */
export class SecondsHistogram<Label extends string> extends Histogram<Label> {
  readonly #options: SecondsHistogramOptions<Label>;
  readonly #tallies = new Map<string, Tally>();

  constructor(options: SecondsHistogramOptions<Label>) {
    const { name, help, label, bounds, registry } = options;
    super({ name, help, labelNames: [label], buckets: [...bounds], registers: [registry] });
    this.#options = options;
  }

  /** `of`: the label's value. */
  count(of: string, seconds: number): void {
    let tally = this.#tallies.get(of);
    if (tally === undefined) {
      tally = { buckets: this.#options.bounds.map(() => 0), count: 0, sum: 0 };
      this.#tallies.set(of, tally);
    }
    tally.count++;
    tally.sum += seconds;
    const { bounds } = this.#options;
    for (let index = 0; index < bounds.length; index++) {
      if (seconds > (bounds[index] ?? 0)) continue;
      tally.buckets[index] = (tally.buckets[index] ?? 0) + 1;
      return;
    }
  }

  override async get(): Promise<HistogramValues<Label>> {
    const { name, help, label } = this.#options;
    const values = [...this.#tallies].flatMap(([of, tally]) => this.#valuesOf({ [label]: of }, tally));
    // prom-client names types in text, where its declarations have numbers.
    return { name, help, type: "histogram", aggregator: "sum", values } as unknown as HistogramValues<Label>;
  }

  /** The registry prefers this method if it exists. */
  getForPromString(): Promise<HistogramValues<Label>> {
    return this.get();
  }

  /** The values in the text format: each bucket includes those below it. */
  #valuesOf(labels: Readonly<Record<string, string>>, { buckets, count, sum }: Tally) {
    const { name, bounds } = this.#options;
    let below = 0;
    const inBuckets = buckets.map((inBucket, index) => {
      below += inBucket;
      return { metricName: `${name}_bucket`, labels: { le: bounds[index], ...labels }, value: below };
    });
    return [
      ...inBuckets,
      { metricName: `${name}_bucket`, labels: { le: "+Inf", ...labels }, value: count },
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}

type HistogramValues<Label extends string> = Awaited<ReturnType<Histogram<Label>["get"]>>;

interface Tally {
  /** The count of each bucket without those below it. */
  readonly buckets: number[];
  count: number;
  sum: number;
}
