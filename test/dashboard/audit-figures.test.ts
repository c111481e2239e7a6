import { describe, expect, it, vi } from "vitest";

// What the modules reach in a browser when they are loaded.
vi.stubGlobal("location", new URL("https://models.example/audit"));
vi.stubGlobal("addEventListener", () => {});

const filters = await import("../../dashboard-ui/src/pages/audit/filters.ts");
const columns = await import("../../dashboard-ui/src/pages/audit/columns.ts");
const views = await import("../../dashboard-ui/src/pages/audit/saved-views.ts");
const { barsOf } = await import("../../dashboard-ui/src/pages/audit/bars.ts");
const { ownPath } = await import("../../dashboard-ui/src/sign-in/own-path.ts");
const schedule = await import("../../dashboard-ui/src/pages/audit/export/schedule.ts");
const { ExportRun, UnwrittenError } = await import("../../dashboard-ui/src/pages/audit/export/export-run.ts");

describe("a text filter", () => {
  it("searches for text that is no known value, and shows it as it was typed", () => {
    const known = ["claude-opus", "a*b"];
    expect(filters.filterOfText("claude", known)).toBe("*claude*");
    expect(filters.filterOfText("claude-opus", known)).toBe("claude-opus");
    expect(filters.filterOfText("open*", known)).toBe("open*");
    expect(filters.filterOfText("", known)).toBe("");
    for (const text of ["claude", "a b", "é"]) {
      expect(filters.textOfFilter(filters.filterOfText(text, known))).toBe(text);
    }
    expect(["*x*", "*x", "x*", "*x*y*", "**", "x"].filter(filters.isContained)).toEqual(["*x*"]);
  });

  it("is told in words, and is removed alone", () => {
    const all = { model: "*claude*", status: "error", source: "10.0.0.0/8", key: "k" };
    expect(filters.filterParts(all, { name: "production", keyId: "aB3d" }).map(({ label }) => label)).toEqual(
      ["key “production” (…aB3d)", "model contains “claude”", "errors only", "source 10.0.0.0/8"],
    );
    expect(filters.withoutFilter(all, "model")).toEqual({ status: "error", source: "10.0.0.0/8", key: "k" });
    expect(filters.filterParts({}, undefined)).toEqual([]);
  });
});

describe("the columns of the log", () => {
  it("are kept in their order, without those that there are not", () => {
    expect(columns.columnsOf("source,nonsense,key")).toEqual(["key", "source"]);
    expect(columns.columnsOf("")).toEqual([]);
    expect(columns.withColumn(["source"], "tokens", true)).toEqual(["tokens", "source"]);
    expect(columns.withColumn(["tokens", "source"], "tokens", false)).toEqual(["source"]);
  });

  it("have a width each, and the status has its place", () => {
    for (const shown of [[], ["key"], ["cost"], [...columns.COLUMNS]] as const) {
      const { widths, status } = columns.gridOf(shown);
      // Time, model, status and the button are always there.
      expect(widths.match(/(?:minmax|clamp)\([^)]*\)|[\d.]+rem/g)).toHaveLength(4 + shown.length);
      expect(status).toBe(shown.some((column) => column === "key") ? 4 : 3);
    }
  });
});

describe("saved views", () => {
  it("hold filters only, replace those of their name, and are bounded", () => {
    const saved = views.withView([], {
      name: "errors",
      search: { status: "error", entry: "req_1", live: true },
    });
    expect(saved).toEqual([{ name: "errors", search: { status: "error" } }]);
    expect(views.withView(saved, { name: "errors", search: { model: "*a*" } })).toEqual([
      { name: "errors", search: { model: "*a*" } },
    ]);
    let many = saved;
    for (let index = 0; index < 50; index++) many = views.withView(many, { name: `${index}`, search: {} });
    expect(many).toHaveLength(views.MAX_VIEWS);
    expect(views.viewsOf(JSON.stringify(saved))).toEqual(saved);
  });

  it("that another version has written, or that are broken, do no harm", () => {
    for (const text of [
      "",
      "{",
      "null",
      "3",
      '{"name":"x"}',
      '[null,1,{"name":""},{"name":"x","search":null}]',
    ]) {
      expect(views.viewsOf(text), text).toEqual([]);
    }
    const odd = [{ name: "x", search: { status: 404, range: "9y", unknown: "y", model: ["z"] } }];
    expect(views.viewsOf(JSON.stringify(odd))).toEqual([{ name: "x", search: { status: "404" } }]);
  });

  it("know whether they are shown", () => {
    const view = { name: "errors", search: { status: "error" } };
    expect(views.isShown(view, { status: "error", live: true })).toBe(true);
    expect(views.isShown(view, { status: "error", model: "x" })).toBe(false);
  });
});

describe("a histogram", () => {
  it("shows one error among thousands of requests, and none higher than its bar", () => {
    const start = new Date(0);
    const bars = barsOf(
      [
        { start, requests: 10_000, errors: 1 },
        { start, requests: 0, errors: 0 },
        { start, requests: 1, errors: 1 },
      ],
      100,
    );
    expect(bars.map(({ index }) => index)).toEqual([0, 2]);
    for (const { requests, errors } of bars) {
      expect(errors).toBeGreaterThanOrEqual(2);
      expect(errors).toBeLessThanOrEqual(requests);
      expect(requests).toBeLessThanOrEqual(100);
    }
    expect(barsOf([], 100)).toEqual([]);
  });
});

describe("the path to go to after sign-in", () => {
  it("is one of this dashboard", () => {
    for (const path of ["/", "/audit?model=%2Aa%2A", "/settings/keys#x"]) expect(ownPath(path)).toBe(path);
    const elsewhere = ["//evil.example", "/\\evil.example", "/\t/evil.example", "/\n//evil.example"];
    const others = ["https://evil.example/", "javascript:alert(1)", "audit", "", "/\\/evil.example", 3, null];
    const dotted = ["/.//evil.example", "/..//evil.example", "/audit/..//evil.example", "/%2e//evil.example"];
    for (const path of [...elsewhere, ...dotted, ...others])
      expect(ownPath(path), String(path)).toBeUndefined();
  });
});

describe("a scheduled export", () => {
  const scheduled = {
    format: "csv",
    filters: { model: "*it's 100%*", status: "error", from: "2026-01-01T00:00:00Z" },
    serviceUrl: "https://models.example/",
  } as const;

  it("asks for one day by the filters of the page, without its period", () => {
    const command = schedule.exportCommands(scheduled).join("\n");
    const address = new URL(/"(https:[^"]*)"/.exec(command)?.[1] ?? "");
    expect(address.pathname).toBe("/v1/audit/export");
    expect(Object.fromEntries(address.searchParams)).toEqual({
      format: "csv",
      model: "*it's 100%*",
      status: "error",
      from: "$DAY",
      to: "$DAY",
    });
  });

  it("is one line for cron, in which every percent sign is escaped", () => {
    const line = schedule.cronLine(scheduled);
    expect(line).not.toContain("\n");
    expect(line.replaceAll("\\%", "")).not.toContain("%");
    expect(line.split(" ").slice(0, 5)).toEqual(["15", "0", "*", "*", "*"]);
  });

  it("is a workflow that takes the token from the secrets", () => {
    expect(schedule.githubWorkflow(scheduled)).toContain(
      `OSTIARY_MANAGEMENT_TOKEN: \${{ secrets.OSTIARY_MANAGEMENT_TOKEN }}`,
    );
  });
});

describe("an export", () => {
  const line = (index: number) => `a${index},2026-01-0${index + 1}T00:00:00.000Z,c${index}\n`;

  /** A place that keeps what was written, and can fail. */
  function target() {
    const written: string[] = [];
    let isBroken = false;
    return {
      written,
      breakOff: () => {
        isBroken = true;
      },
      finished: vi.fn(async () => {}),
      discarded: vi.fn(async () => {}),
      get target() {
        return {
          fileName: "audit.csv",
          write: async (bytes: Uint8Array) => {
            if (isBroken) throw new Error("no space left");
            written.push(new TextDecoder().decode(bytes));
          },
          finish: this.finished,
          discard: this.discarded,
        };
      },
    };
  }

  function answer(text: string) {
    return new Response(text, { headers: { "content-type": "text/csv; charset=utf-8" } });
  }

  it("writes every line once and finishes the file", async () => {
    vi.stubGlobal("fetch", async () => answer(`id,timestamp,cursor\n${line(0)}${line(1)}`));
    const place = target();
    const progress = vi.fn();
    await new ExportRun("csv", {}, place.target, progress).run();
    expect(place.written.join("")).toBe(`id,timestamp,cursor\n${line(0)}${line(1)}`);
    expect(place.finished).toHaveBeenCalledOnce();
    // The byte order mark, which the decoder of the test leaves out, has three bytes.
    const bytes = place.written.join("").length + 3;
    expect(progress.mock.lastCall?.[0]).toMatchObject({ entries: 2, bytes });
  });

  it.each([
    ["csv", {}, null],
    ["csv", { status: "4xx" }, null],
    ["ndjson", {}, null],
    ["ndjson", { status: undefined }, null],
    ["ndjson", { status: "4xx" }, "true"],
    ["ndjson", { to: "2026-01-01T00:00:00Z" }, "true"],
  ] as const)("has the proof that it needs to be verified: %s %o", async (format, filters, proof) => {
    const asked = vi.fn(async (_: string | URL | Request) => answer(""));
    vi.stubGlobal("fetch", asked);
    const run = new ExportRun(format, filters, target().target, () => {});
    // An answer without an end is interrupted.
    run.run().catch(() => {});
    await vi.waitFor(() => expect(asked).toHaveBeenCalled());
    await run.giveUp();
    const url = new URL(String(asked.mock.calls[0]?.[0]), "http://localhost");
    expect(url.searchParams.get("proof")).toBe(proof);
    const ofDay = schedule
      .exportCommands({ format, filters, serviceUrl: "https://models.example" })
      .join("\n");
    expect(ofDay.includes("proof=true")).toBe(format === "ndjson");
  });

  it("that can't write its file says so, and finishes nothing", async () => {
    vi.stubGlobal("fetch", async () => answer(`id,timestamp,cursor\n${line(0)}`));
    const place = target();
    place.breakOff();
    const run = new ExportRun("csv", {}, place.target, () => {});
    await expect(run.run()).rejects.toBeInstanceOf(UnwrittenError);
    expect(place.finished).not.toHaveBeenCalled();
    await run.giveUp();
    expect([run.isGivenUp, place.discarded.mock.calls.length]).toEqual([true, 1]);
  });
});
