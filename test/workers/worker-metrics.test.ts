import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { addedUp, type MetricsJson } from "../../server/src/metrics/metrics.ts";
import { WorkerMetrics } from "../../server/src/start/workers/worker-metrics.ts";

/** What a worker counts, and how many connections it has. */
function metricsOf(requests: number): MetricsJson {
  const metric = (name: string, type: string, value: number) => ({
    ...{ name, help: name, type, aggregator: "sum" },
    values: [{ value, labels: {} }],
  });
  return [
    metric("requests_total", "counter", requests),
    metric("connections", "gauge", 1),
  ] as unknown as MetricsJson;
}

async function sumsOf(parts: readonly MetricsJson[]) {
  const metrics = await addedUp(parts).getMetricsAsJSON();
  return Object.fromEntries(metrics.map(({ name, values }) => [name, values[0]?.value]));
}

describe("the metrics of workers", () => {
  // No deadline passes, so whatever waits for one waits for ever.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  it("do not wait for a worker that ends after it was asked", async () => {
    const metrics = new WorkerMetrics();
    const stays = { collect: (id: number) => metrics.answered(id, metricsOf(2)) };
    const ends = { collect: (id: number) => metrics.answered(id, metricsOf(3)) };
    await metrics.collect([stays, ends]);
    ends.collect = () => metrics.ended(ends);
    expect(await sumsOf(await metrics.collect([stays, ends]))).toEqual({ requests_total: 5, connections: 1 });
  });

  it("keep no worker that has answered and ended", async () => {
    const metrics = new WorkerMetrics();
    const ends = {
      collect(id: number) {
        metrics.answered(id, metricsOf(3));
        metrics.ended(ends);
      },
    };
    expect(await sumsOf(await metrics.collect([ends]))).toEqual({ requests_total: 3 });
    expect(await sumsOf(await metrics.collect([]))).toEqual({ requests_total: 3 });
  });

  it("keep the counts of workers that end at once, also meanwhile", async () => {
    const metrics = new WorkerMetrics();
    const workers = [1, 2, 3].map((requests) => ({
      collect: (id: number) => metrics.answered(id, metricsOf(requests)),
    }));
    await metrics.collect(workers);
    for (const worker of workers) metrics.ended(worker);
    for (let scrape = 0; scrape < 5; scrape++) {
      expect(await sumsOf(await metrics.collect([]))).toEqual({ requests_total: 6 });
    }
  });
});
