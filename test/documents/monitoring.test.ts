import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readConfig } from "../../server/src/config/config.ts";
import { freePort } from "../fixtures/free-port.ts";
import { metricOf } from "../fixtures/metrics.ts";
import { openRaw } from "../fixtures/raw-http.ts";
import { ROOT, startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { readDocument } from "./snippets.ts";

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

const ALERTS = "deploy/alerts/ostiary.yaml";
const DASHBOARD = "deploy/grafana/ostiary.json";
const promtool = process.env.PROMTOOL ?? "promtool";
const hasPromtool = (() => {
  try {
    execFileSync(promtool, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();
/** Checks by Prometheus' own tool, which `.ci/run` installs from Debian's package `prometheus`. */
const withPromtool = it.skipIf(!hasPromtool);

const { groups } = parse(readFileSync(join(ROOT, ALERTS), "utf8")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = readFileSync(join(ROOT, DASHBOARD), "utf8");

const { panels } = JSON.parse(dashboard) as { panels: { targets?: { expr: string }[] }[] };
const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

const service = sharedByFile(startService);
let scraped: string;

beforeAll(async () => {
  await signUpWithKey(service.baseUrl);
  scraped = await (await fetch(`${service.baseUrl}/metrics`)).text();
});

/** The names of metrics in an expression, those of histograms without the suffix of their parts. */
function metricsIn(text: string): readonly string[] {
  // Values of labels may look like names.
  const names = text.replace(/"[^"]*"/g, "").match(/\b(?:ostiary|process|nodejs)_[a-z_]+[a-z]\b/g) ?? [];
  return names.map((name) => name.replace(/_(bucket|sum|count)$/, ""));
}

const ALERTING = 'ALERTS{alertstate="firing"}';

/** A series of alerts that fire, as promtool writes it. */
function sampleOf(labels: Readonly<Record<string, string>>): string {
  const written = Object.entries({ ...labels, alertstate: "firing" }).map(
    ([name, value]) => `${name}="${value}"`,
  );
  return `ALERTS{${written.join(",")}}`;
}

/** Evaluates the alert rules on series, and compares the results. @throws with promtool's report if they differ. */
async function testRules(test: object): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "ostiary-rules-"));
  const file = join(folder, "test.yaml");
  await writeFile(
    file,
    JSON.stringify({ rule_files: [join(ROOT, ALERTS)], evaluation_interval: "15s", tests: [test] }),
  );
  try {
    execFileSync(promtool, ["test", "rules", file], { stdio: "pipe" });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe("the metrics", () => {
  withPromtool("follow Prometheus' rules for names and help texts", () => {
    const check = () => execFileSync(promtool, ["check", "metrics"], { input: scraped, stdio: "pipe" });
    expect(check).not.toThrow();
  });

  it("measure how long a change takes until it is in force", async () => {
    const owner = await signUpWithKey(service.baseUrl);
    const count = () => metricOf(service.baseUrl, "ostiary_change_publish_duration_seconds_count");
    const before = await count();
    const { keys } = await owner.trpc.keys.list.query();
    await owner.trpc.keys.revoke.mutate({ id: keys[0]?.id ?? "" });
    expect(await count()).toBeGreaterThan(before);
  });

  it("tell the version and the runtime, and that the database answers", () => {
    expect(scraped).toMatch(
      /^ostiary_build_info\{version="\d+\.\d+\.\d+[^"]*",runtime="(node|deno) \d[^"]*"\} 1$/m,
    );
    expect(scraped).toMatch(/^ostiary_database_up 1$/m);
    expect(scraped).toMatch(/^ostiary_database_connections_max\{pool="access"\} 5$/m);
    expect(scraped).toMatch(/^ostiary_changes_unpublished 0$/m);
  });
});

describe("the alert rules", () => {
  withPromtool("are valid", () => {
    expect(() =>
      execFileSync(promtool, ["check", "rules", join(ROOT, ALERTS)], { stdio: "pipe" }),
    ).not.toThrow();
  });

  withPromtool("report a provider that does not answer, whose breaker is open for moments only", async () => {
    const labels = { alertname: "OstiaryUpstreamDown", severity: "warning", upstream: "hangs" };
    const series = 'ostiary_upstream_breaker_state{upstream="hangs"}';
    await testRules({
      interval: "15s",
      input_series: [{ series, values: "0 0 2 1 1 2 1 1 1 2 2 1 1 1 2 0 0" }],
      promql_expr_test: [
        { expr: ALERTING, eval_time: "2m", exp_samples: [] },
        { expr: ALERTING, eval_time: "3m", exp_samples: [{ labels: sampleOf(labels), value: 1 }] },
        { expr: ALERTING, eval_time: "4m", exp_samples: [] },
      ],
    });
  });

  it("have a section of the documentation each, which they name, and no section is without a rule", () => {
    const sections = [...readDocument("docs/how-to/monitor.md").matchAll(/^### (Ostiary\w+)$/gm)];
    expect(sections.map(([, name]) => name).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
    for (const { alert, annotations, labels } of rules) {
      expect(annotations.runbook_url).toMatch(new RegExp(`/docs/how-to/monitor#${alert.toLowerCase()}$`));
      expect(["critical", "warning"]).toContain(labels.severity);
    }
  });

  it("and the dashboard use metrics that exist", () => {
    const documented = new Set(readDocument("docs/reference/metrics.md").match(/`ostiary_[a-z_]+`/g));
    const used = [...rules.flatMap(({ expr }) => metricsIn(expr)), ...expressions.flatMap(metricsIn)];
    expect(used.length).toBeGreaterThan(40);
    const unknown = used.filter(
      (name) => !documented.has(`\`${name}\``) && !scraped.includes(`\n# TYPE ${name} `),
    );
    expect([...new Set(unknown)]).toEqual([]);
  });
});

describe("the dashboard", () => {
  it("has panels whose expressions all select job and node", () => {
    expect(expressions.length).toBeGreaterThan(25);
    for (const expr of expressions) expect(expr).toContain('job=~"$job",instance=~"$instance"');
  });

  withPromtool("has expressions that Prometheus accepts", async () => {
    const plain = expressions.map((expr) =>
      expr.replaceAll("$__rate_interval", "5m").replaceAll("$__range", "1h"),
    );
    const recorded = plain.map((expr, index) => ({ record: `panel:${index}`, expr }));
    const folder = await mkdtemp(join(tmpdir(), "ostiary-panels-"));
    const file = join(folder, "panels.yaml");
    await writeFile(file, JSON.stringify({ groups: [{ name: "panels", rules: recorded }] }));
    expect(() => execFileSync(promtool, ["check", "rules", file], { stdio: "pipe" })).not.toThrow();
    await rm(folder, { recursive: true, force: true });
  });
});

describe("the port for metrics", () => {
  it("serves them, and the port of the API no longer does", async () => {
    const port = await freePort();
    await using own = await startService({ env: { OSTIARY_METRICS_PORT: String(port) } });
    const there = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    expect(await (await there("/metrics")).text()).toContain("ostiary_build_info");
    for (const path of ["/", "/v1/models", "/trpc/service.info"])
      expect((await there(path)).status).toBe(404);
    // A page of another site can have its name lead to this machine.
    using page = await openRaw(`http://127.0.0.1:${port}`);
    page.send(`GET /metrics HTTP/1.1\r\nhost: evil.example:${port}\r\n\r\n`);
    expect((await page.answer()).status).toBe(403);
    expect((await fetch(`${own.baseUrl}/metrics`)).status).toBe(404);
    expect((await fetch(`${own.baseUrl}/readyz`)).status).toBe(200);
  });

  it("must be another one than the API's", () => {
    expect(() => readConfig({ PORT: "9000", OSTIARY_METRICS_PORT: "9000" })).toThrow(
      "OSTIARY_METRICS_PORT: must be another port than PORT",
    );
  });
});
