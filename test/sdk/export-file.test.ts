import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type ActionsClient, addActionsCommands } from "../../sdk/src/cli/actions-commands.ts";
import { exportTo } from "../../sdk/src/cli/export-file.ts";
import {
  APIConnectionError,
  type AuditExportParams,
  AuthenticationError,
  OstiaryError,
} from "../../sdk/src/index.ts";
import { answersInTurn, caught, failing, newClient } from "./fake-service.ts";

describe("two exports to one file, as of a job that starts again while it still runs", () => {
  const linesOf = (ids: string) => [...ids].map((id) => `{"id":"${id}","cursor":"${id}~1"}\n`).join("");

  it.each([
    ["fails before it changes the file, if it resumes", true, "abc"],
    ["lets the first fail, if it replaces the file", false, "xz"],
  ])("do not mix their lines, because the second %s", async (_, isResumed, expected) => {
    const folder = await mkdtemp(join(tmpdir(), "ostiary-two-exports-"));
    const file = join(folder, "export");
    /** Begins an export, which writes lines when the test sends them. */
    const begin = (resumes: boolean) => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const writer = writable.getWriter();
      const fetch = answersInTurn(() => new Response(readable));
      const { signal } = new AbortController();
      const job = { client: newClient({ fetch }), params: {}, file, isResumed: resumes, signal };
      return { fetch, writer, ended: caught(exportTo(job)) };
    };
    /** Sends lines, and waits until the file has these. */
    const send = async ({ writer }: ReturnType<typeof begin>, id: string, ids: string) => {
      await writer.write(new TextEncoder().encode(linesOf(id)));
      await vi.waitUntil(async () => (await readFile(file, "utf8").catch(() => "")) === linesOf(ids));
    };
    const first = begin(false);
    await send(first, "a", "a");
    const second = begin(isResumed);
    await vi.waitUntil(() => second.fetch.mock.calls.length === 1);
    const [failing, other] = isResumed ? [second, first] : [first, second];
    await (isResumed ? send(first, "b", "ab") : send(second, "xz", "xz"));
    await send(failing, "y", isResumed ? "ab" : "xz");
    expect(String(await failing.ended)).toContain("Another program has written the file");
    if (isResumed) await send(first, "c", "abc");
    await other.writer.close();
    expect(await other.ended).toBeUndefined();
    expect(await readFile(file, "utf8")).toBe(linesOf(expected));
    await rm(folder, { recursive: true });
  });
});

describe("an export that is resumed in a file", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "ostiary-resume-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Resumes in a file with this content. Returns the cursors of the requests, and the content afterwards. */
  async function resume(
    before: string,
    format: "ndjson" | "csv",
    answer: string | Response = "",
    filters: AuditExportParams = {},
  ) {
    const file = join(folder, "export");
    await writeFile(file, before);
    const fetch = answersInTurn(() => (answer instanceof Response ? answer : new Response(answer)));
    const { signal } = new AbortController();
    const error = await caught(
      exportTo({
        client: newClient({ fetch }),
        params: { ...filters, format },
        file,
        isResumed: true,
        signal,
      }),
    );
    const cursors = fetch.mock.calls.map(([url]) => new URL(String(url)).searchParams.get("cursor"));
    return { error, cursors, after: await readFile(file, "utf8") };
  }

  it.each([
    ["has no line break in its last 4 MiB", `{"cursor":"a~1"}\n${"x".repeat(4_200_000)}`, "ndjson"],
    ["has no complete line", '{"id":1,"cur', "ndjson"],
    ["has no complete header", "id,mod", "csv"],
    ["is another text", "one\ntwo\nthr", "ndjson"],
    ["is another CSV file", "one,two\nthree,four\n", "csv"],
    ["ends with an empty line", "id,model,cursor\na,m,a~1\n\n", "csv"],
    ["is CSV, and not NDJSON", "id,model,cursor\na,m,a~1\n", "ndjson"],
    ["is NDJSON, and not CSV", '{"id":"a","cursor":"a~1"}\n', "csv"],
  ] as const)("is refused if the file %s, which stays as it is", async (_, before, format) => {
    const { error, cursors, after } = await resume(before, format, "more\n");
    expect(error).toBeInstanceOf(OstiaryError);
    expect(cursors).toEqual([]);
    expect(after === before).toBe(true);
  });

  const begun = (from: string | null, to: string | null, filter: Readonly<Record<string, string>>) =>
    `${JSON.stringify({ proof: { export: { from, to, filter } }, cursor: "9~0-0" })}\n`;
  const october = begun("2026-10-01T00:00:00.000Z", "2026-11-01T00:00:00.000Z", { status: "4xx" });

  it.each([
    ["another filter", { from: "2026-10-01", to: "2026-10-31", status: "2xx" }],
    ["no filter", { from: "2026-10-01", to: "2026-10-31" }],
    ["a further filter", { from: "2026-10-01", to: "2026-10-31", status: "4xx", model: "a/b" }],
    ["another period", { from: "2026-10-01", to: "2026-10-30", status: "4xx" }],
    ["no end", { from: "2026-10-01", status: "4xx" }],
  ] as const)("with %s than it began with is refused, and stays as it is", async (_, filters) => {
    const { error, cursors, after } = await resume(october, "ndjson", "more\n", filters);
    expect(error).toBeInstanceOf(OstiaryError);
    expect(String(error)).toContain("another period or filter");
    expect(cursors).toEqual([]);
    expect(after).toBe(october);
  });

  it.each([
    ["10.0.0.0/8", "192.168.0.0/16"],
    ["10.0.0.0/8", "10.0.0.0/9"],
    ["10.0.0.0/32", "10.0.0.1"],
    ["2001:db8::/32", "2001:db9::/32"],
    ["::/0", "0.0.0.0/0"],
    ["10.0.0.0/8", "10.0.0.0/8/8"],
    ["10.0.0.0/8", "ten"],
  ])("with another network than it began with is refused: %s, %s", async (begunWith, source) => {
    const before = begun(null, null, { source: begunWith });
    const { error, after } = await resume(before, "ndjson", "more\n", { source });
    expect(String(error)).toContain("another period or filter");
    expect(after).toBe(before);
  });

  it("with another key than it began with is refused", async () => {
    const { error } = await resume(begun(null, null, { key: "abcd" }), "ndjson", "", { key: "ABCD" });
    expect(String(error)).toContain("another period or filter");
  });

  const key = "0192d3c4-5b6a-7c8d-9e0f-a1b2c3d4e5f6";
  const sources = (written: string, given: string) =>
    [begun(null, null, { source: written }), { source: given }] as const;

  it.each([
    [begun(null, null, { key }), { key: key.toUpperCase() }],
    sources("10.1.2.3/8", " 10.0.0.0/8 "),
    sources("10.0.0.0/8", "::ffff:10.0.0.0/104"),
    sources("2001:db8::/32", "2001:DB8:0:1::/32"),
    sources("2001:db8::1/128", "2001:db8:0::1"),
    [october, { from: "2026-10-01", to: "2026-10-31", status: "4xx" }],
    [october, { from: "2026-10-01T02:00:00+02:00", to: "2026-11-01T00:00:00Z", status: "4xx" }],
    [begun(null, null, { source: "192.0.2.1/32", key: "abcd" }), { source: "192.0.2.1", key: "abcd" }],
  ] as const)("with the period and the filter that it began with goes on: %s", async (before, filters) => {
    const { error, cursors } = await resume(before, "ndjson", '{"id":"b","cursor":"b~2"}\n', filters);
    expect(error).toBeUndefined();
    expect(cursors).toEqual(["9~0-0"]);
  });

  it.each([
    ["csv", "id,model,cursor\na,m,a~1\n"],
    ["ndjson", '{"id":"a","cursor":"a~1"}\n'],
  ] as const)("whose cursor the service refuses stays as it is: %s", async (format, before) => {
    const details = {
      type: "invalid_request_error",
      code: "invalid_request",
      param: "cursor",
      message: "Other.",
    };
    const refused = Response.json({ error: details }, { status: 400 });
    const { error, after } = await resume(before, format, refused);
    expect(error).toBeInstanceOf(OstiaryError);
    expect(String(error)).toContain("The file cannot be resumed: its export has another period, filter");
    expect(after).toBe(before);
  });

  it.each([
    ["csv", "id,model,cursor\na,m,a~1\n"],
    ["ndjson", '{"id":"a","cursor":"a~1"}\n'],
  ] as const)("after which entries were deleted stays as it is: %s", async (format, before) => {
    const details = {
      type: "invalid_request_error",
      code: "not_found",
      param: "cursor",
      message: "Deleted.",
    };
    const refused = Response.json({ error: details }, { status: 404 });
    const { error, after } = await resume(before, format, refused);
    expect(error).toBeInstanceOf(OstiaryError);
    expect(String(error)).toMatch(/The file cannot be resumed: .*deleted.*Keep the file.*another file/);
    expect(after).toBe(before);
  });

  it("has one header if the file has no more than that", async () => {
    const whole = "id,model,cursor\na,m,a~1\n";
    const { cursors, after } = await resume("id,model,cursor\na,m,", "csv", whole);
    expect(cursors).toEqual([null]);
    expect(after).toBe(whole);
  });

  it("begins at the beginning if the file is empty", async () => {
    const whole = '{"id":"a","cursor":"a~1"}\n';
    const { cursors, after } = await resume("", "ndjson", whole);
    expect(cursors).toEqual([null]);
    expect(after).toBe(whole);
  });

  it.each([
    ["csv", "id,model,cursor\na,m,a~1\n", "b,m", "b,m,b~2\n"],
    ["ndjson", '{"id":"a","cursor":"a~1"}\n', '{"id', '{"id":"b","cursor":"b~2"}\n'],
    ["ndjson", `{"id":"${"a".repeat(70_000)}","cursor":"a~1"}\n`, "", '{"id":"b","cursor":"b~2"}\n'],
    // As long as the line of a proof with 500 entries.
    [
      "ndjson",
      '{"id":"a","cursor":"a~1"}\n',
      `{"proof":"${"b".repeat(300_000)}`,
      '{"id":"b","cursor":"b~2"}\n',
    ],
  ] as const)("as %s continues after the last complete line", async (format, before, cut, rest) => {
    const { cursors, after } = await resume(before + cut, format, rest);
    expect(cursors).toEqual(["a~1"]);
    expect(after === before + rest).toBe(true);
  });
});

describe("an export with a proof", () => {
  const id = "019b0000-0000-7000-8000-000000000000";
  const header = `{"proof":{"export":{}},"cursor":"5~${id}~0-0"}`;
  const entry = `{"id":"${id}","cursor":"5~${id}~1-1"}`;
  const end = `{"proof":{"end":{}},"cursor":"5~${id}~1-1~end"}`;

  it("resumes when its answer ends before the last line, as behind some proxies", async () => {
    const fetch = answersInTurn(
      () => new Response(`${header}\n`),
      () => new Response(""),
      () => new Response(`${entry}\n${end}\n`),
    );
    const run = newClient({ fetch }).audit.export({ proof: true });
    const lines: string[] = [];
    for await (const line of run) lines.push(line);
    expect(lines).toEqual([header, entry, end]);
    expect(run.progress.resumptions).toBe(2);
    const cursors = fetch.mock.calls.map(([url]) => new URL(String(url)).searchParams.get("cursor"));
    expect(cursors).toEqual([null, `5~${id}~0-0`, `5~${id}~0-0`]);
  });

  it("fails if its last line never comes", async () => {
    const fetch = answersInTurn(() => new Response(`${header}\n`));
    const run = newClient({ fetch }).audit.export({ proof: true }, { maxResumptions: 0 });
    const read = async () => {
      for await (const line of run) expect(line).toBe(header);
    };
    const error = await caught(read());
    expect(error).toBeInstanceOf(APIConnectionError);
    expect(String(error)).toContain("before its last line");
  });

  it("that was complete before ends at once", async () => {
    const fetch = answersInTurn(() => new Response(""));
    const run = newClient({ fetch }).audit.export({ proof: true, cursor: `5~${id}~1-1~end` });
    for await (const line of run) expect.fail(line);
    expect(fetch).toHaveBeenCalledTimes(1);
  });
});

describe("an export to a file", () => {
  let file = "";
  beforeEach(async () => {
    file = join(await mkdtemp(join(tmpdir(), "ostiary-export-")), "export");
    await writeFile(file, EARLIER);
  });
  afterEach(() => rm(dirname(file), { recursive: true, force: true }));

  const EARLIER = '{"id":"a","cursor":"a~1"}\n{"id":"b","cur';
  const LINE = '{"id":"c","cursor":"c~1"}\n';
  const { signal } = new AbortController();

  async function exportOf(isResumed: boolean, ...answers: (() => Response)[]) {
    const client = newClient({ fetch: answersInTurn(...answers) });
    const error = await caught(exportTo({ client, params: {}, file, isResumed, signal }));
    return { error, after: await readFile(file, "utf8") };
  }

  async function exportActions(...lines: (string | Error)[]) {
    const client: ActionsClient = {
      async *exportActions() {
        for (const line of lines) {
          if (line instanceof Error) throw line;
          yield line;
        }
      },
      verifyActions: () => Promise.reject(new Error("not called")),
    };
    const program = new Command();
    addActionsCommands(program, { client: () => client, print: () => {} });
    const error = await caught(program.parseAsync(["export", "-o", file], { from: "user" }));
    return { error, after: await readFile(file, "utf8") };
  }

  it.each([
    ["a whole one", false],
    ["a resumed one", true],
  ])("that fails before its first line leaves the file as it is: %s", async (_, isResumed) => {
    const { error, after } = await exportOf(isResumed, failing(401));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(after).toBe(EARLIER);
  });

  it("of actions that fails before its first line leaves the file as it is", async () => {
    const { error, after } = await exportActions(new OstiaryError("refused"));
    expect(error).toBeInstanceOf(OstiaryError);
    expect(after).toBe(EARLIER);
  });

  it("that fails later leaves what arrived, to be resumed", async () => {
    const broken = () => new Response(`${LINE}{"id"`);
    const { error, after } = await exportOf(false, broken, failing(401));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(after).toBe(LINE);
    expect((await exportActions("one", new OstiaryError("refused"))).after).toBe("one\n");
  });

  it("without entries empties the file", async () => {
    expect(await exportOf(false, () => new Response(""))).toMatchObject({ after: "" });
    await writeFile(file, EARLIER);
    expect(await exportActions()).toMatchObject({ after: "" });
  });
});

describe("an export to standard output", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** A standard output that is full after each write, until the next turn of the event loop. */
  function slowOutput() {
    const output = { text: "", isFull: false };
    vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      output.text += String(text);
      output.isFull = true;
      setImmediate(() => {
        output.isFull = false;
        process.stdout.emit("drain");
      });
      return false;
    });
    return output;
  }

  it("reads actions no faster than they are written", async () => {
    const output = slowOutput();
    const wasFull: boolean[] = [];
    const client: ActionsClient = {
      async *exportActions() {
        for (const line of ["one", "two", "three"]) {
          wasFull.push(output.isFull);
          yield line;
        }
      },
      verifyActions: () => Promise.reject(new Error("not called")),
    };
    const program = new Command();
    addActionsCommands(program, { client: () => client, print: () => {} });
    await program.parseAsync(["export"], { from: "user" });
    expect(wasFull).toEqual([false, false, false]);
    expect(output.text).toBe("one\ntwo\nthree\n");
  });

  it("reads entries no faster than they are written", async () => {
    const output = slowOutput();
    const lines = ["a", "b", "c"].map((id) => `{"id":"${id}","cursor":"${id}~1"}\n`);
    const wasFull: boolean[] = [];
    const fetch = answersInTurn(() => {
      const rest = [...lines];
      const pull = (controller: ReadableStreamDefaultController) => {
        const line = rest.shift();
        if (line === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(line));
      };
      return new Response(new ReadableStream({ pull }));
    });
    const client = newClient({ fetch });
    const { signal } = new AbortController();
    const whole = client.audit.export({});
    vi.spyOn(client.audit, "export").mockReturnValue(whole);
    const text = whole.text.bind(whole);
    vi.spyOn(whole, "text").mockImplementation(async function* () {
      for await (const piece of text()) {
        wasFull.push(output.isFull);
        yield piece;
      }
    });
    await exportTo({ client, params: {}, file: null, isResumed: false, signal });
    expect(wasFull.length).toBeGreaterThan(1);
    expect(wasFull).not.toContain(true);
    expect(output.text).toBe(lines.join(""));
  });
});
