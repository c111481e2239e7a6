import { readFile } from "node:fs/promises";
import fc from "fast-check";
import superjson from "superjson";
import { describe, expect, it } from "vitest";
import { verifyActionsExport } from "../../sdk/src/audit/verify-actions.ts";
import { EventReader } from "../../sdk/src/contract/event-reader.ts";
import {
  readProcedureData,
  UnreadableData,
  writeProcedureData,
} from "../../sdk/src/contract/procedure-data.ts";
import { readBearer, requireKeyForm } from "../../server/src/access/bearer.ts";
import { cursorText, readCursor } from "../../server/src/audit/cursor.ts";
import { filterOf } from "../../server/src/audit/filter.ts";
import { selectionOf } from "../../server/src/audit/selection.ts";
import { CatalogError, loadCatalog } from "../../server/src/catalog/load-catalog.ts";
import { Failure } from "../../server/src/errors/failure.ts";
import { JsonBody } from "../../server/src/json/json-body.ts";
import { type ScanLimits, scanObject } from "../../server/src/json/json-text.ts";
import { isKeyString } from "../../server/src/keys/key-string.ts";
import { clientAddress } from "../../server/src/networks/client-address.ts";
import { parseAddress, parseNetworks } from "../../server/src/networks/networks.ts";
import { readFilter, requireKnown } from "../../server/src/operations/audit.ts";
import { chooseCoding } from "../../server/src/operations/content-coding.ts";
import { readIdempotencyKey } from "../../server/src/request/idempotent-reply.ts";
import { KEY_PREFIX, mintSecretString } from "../../server/src/secrets/secret-string.ts";
import { DIALECTS } from "../../server/src/upstream/dialects.ts";

/** `OSTIARY_TEST_FUZZ_RUNS` tries more. */
const NUM_RUNS = Number(process.env.OSTIARY_TEST_FUZZ_RUNS ?? 1_000);
const RUNS = { numRuns: NUM_RUNS };
/** A few lengths of input, 16 times apart: what is quadratic takes 256 times as long. */
const GROWTH = 16;
const MAX_TIMES_LINEAR = 6;

/** Text of all kinds, and text that is nearly right. */
function textLike(...examples: string[]): fc.Arbitrary<string> {
  const cut = fc.tuple(fc.constantFrom(...examples), fc.nat(), fc.nat(), fc.string({ unit: "binary" }));
  return fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string(),
    fc.constantFrom(...examples),
    cut.map(([example, at, length, put]) => {
      const start = at % (example.length + 1);
      return example.slice(0, start) + put + example.slice(start + (length % (example.length + 1)));
    }),
  );
}

/** Throws what is not a failure with a code of the table. */
function refusing<Result>(read: () => Result): Result | null {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Failure && thrown.status < 500) return null;
    throw thrown;
  }
}

/** How many times more of a processor an input 16 times as long takes: the best of some runs, as collections of memory count, too. */
function growthOf(run: (length: number) => void, length: number): number {
  const best = (size: number) => {
    const times = Array.from({ length: 7 }, () => {
      const start = process.cpuUsage();
      run(size);
      const { user, system } = process.cpuUsage(start);
      return user + system;
    });
    return Math.max(Math.min(...times), 50);
  };
  best(length);
  return best(length * GROWTH) / best(length);
}

function expectLinear(run: (length: number) => void, length: number): void {
  expect(growthOf(run, length)).toBeLessThan(GROWTH * MAX_TIMES_LINEAR);
}

describe("headers", () => {
  const key = mintSecretString(KEY_PREFIX);

  it("of any form authenticate only with a valid key, and are never repeated in answers", () => {
    fc.assert(
      fc.property(fc.array(textLike(`Bearer ${key}`, `bearer ${key}`, key), { maxLength: 3 }), (values) => {
        try {
          const found = readBearer(values, "key");
          requireKeyForm(found);
          expect(values).toEqual([`Bearer ${found}`]);
          expect(isKeyString(found)).toBe(true);
        } catch (thrown) {
          expect(thrown).toMatchObject({ code: "invalid_api_key" });
          const { message } = thrown as Failure;
          for (const value of values) if (value.length > 12) expect(message).not.toContain(value);
        }
      }),
      RUNS,
    );
    expectLinear((length) => refusing(() => readBearer([`Bearer sk-${" ".repeat(length)}`], "key")), 10_000);
  });

  it("with idempotency keys and content codings are either parsed or refused", () => {
    fc.assert(
      fc.property(fc.array(textLike("a-key-of-mine", "ключ"), { maxLength: 3 }), (values) => {
        const read = refusing(() => readIdempotencyKey(values));
        if (read !== null) expect(values).toEqual([read]);
      }),
      RUNS,
    );
    fc.assert(
      fc.property(textLike("gzip;q=0.5, br;q=1, *;q=0", "identity;q=,,;"), (value) => {
        expect(["br", "gzip", null]).toContain(chooseCoding(value, ["br", "gzip"]));
      }),
      RUNS,
    );
    expectLinear((length) => chooseCoding("gzip;q=".repeat(length), ["br"]), 500);
  });

  it("with client addresses yield an address or none", () => {
    const { networks } = parseNetworks(["10.0.0.0/8", "2001:db8::/32"]);
    const hop = textLike(
      "192.0.2.1",
      "10.0.0.1:80",
      "[2001:db8::1]:443",
      "fe80::1%eth0",
      "::ffff:10.0.0.1",
      ",",
    );
    fc.assert(
      fc.property(hop, fc.array(hop, { maxLength: 5 }), (peer, hops) => {
        const address = clientAddress(peer, hops, networks);
        if (address !== null) expect(parseAddress(address)?.toString()).toBe(address);
      }),
      RUNS,
    );
    expectLinear((length) => clientAddress("10.0.0.1", ["10.0.0.1,".repeat(length)], networks), 500);
  });
});

describe("network notations", () => {
  it("are either parsed or refused as invalid, and contain their own address", () => {
    const network = textLike("10.0.0.0/8", "2001:db8::/32", "::ffff:10.0.0.0/104", "010.0.0.1", "1.2.3.4/33");
    fc.assert(
      fc.property(network, (text) => {
        const { networks, problems } = parseNetworks([text]);
        expect(problems.length).toBeLessThanOrEqual(1);
        if (problems.length === 0) expect(networks.contains(text.split("/")[0] ?? "")).toBe(true);
      }),
      RUNS,
    );
  });
});

describe("cursors and filters", () => {
  const entry = "0198a0b0-0000-7000-8000-000000000001";
  const selection = selectionOf(null, "page", filterOf({}));
  const cursor = `17${selection}~${entry}`;

  it("are either parsed or refused", () => {
    fc.assert(
      fc.property(textLike(cursor, `17~${entry}`), (text) => {
        const read = refusing(() => readCursor(text, selection));
        if (read === null) return;
        // Leading zeroes apart, it is the text itself. Cursors of earlier versions name no selection.
        const forms = [`${read.asOf}~${read.entry}`, cursorText(read, selection)];
        expect(forms.map((form) => form.padStart(text.length, "0"))).toContain(text);
      }),
      RUNS,
    );
    const names = fc.oneof(fc.constantFrom("from", "to", "key", "model", "status", "source"), fc.string());
    const value = textLike("2026-01-31T00:00:00Z", "4xx", "10.0.0.0/8", "gpt", "+275760-09-13T00:00:00.001Z");
    fc.assert(
      fc.property(fc.array(fc.tuple(names, value)), (pairs) => {
        const query = new URLSearchParams(pairs);
        const filter = refusing(() => readFilter(query));
        if (filter?.from != null) expect(filter.from.getTime()).not.toBeNaN();
        refusing(() => requireKnown(query, ["cursor", "limit"]));
      }),
      RUNS,
    );
  });
});

describe("JSON bodies", () => {
  const limits: ScanLimits = {
    depth: 20,
    values: 1_000,
    containers: 500,
    names: 500,
    strings: 1_000,
    numerals: 500,
    members: 100,
  };
  const read = (text: string, within: ScanLimits) => {
    const scanned = scanObject(text, within);
    return scanned.kind === "object" ? JsonBody.of(text, scanned) : null;
  };
  const json = textLike(
    '{"model":"m","messages":[{"role":"user","content":"\\ud800"}]}',
    "[".repeat(30),
    '{"a":1,"a":2}',
  );

  it("parse like JSON.parse, and are passed on byte for byte where nothing changes", () => {
    const texts = fc.oneof(
      json,
      fc.json(),
      fc.dictionary(fc.string(), fc.jsonValue()).map((v) => JSON.stringify(v)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const body = read(text, limits);
        if (body === null) return;
        expect(body.value).toEqual(JSON.parse(text));
        expect(JSON.parse(body.textWith({ model: "other" }))).toEqual({
          ...JSON.parse(text),
          model: "other",
        });
      }),
      RUNS,
    );
  });

  it("take time in proportion to their length, whatever they contain", () => {
    const shapes: ((length: number) => string)[] = [
      (length) => `{${Array.from({ length }, (_, index) => `"f${index}":1`).join(",")}}`,
      (length) => `{"a":[${"{},".repeat(length)}{}]}`,
      (length) => `{"a":"${"\\\\".repeat(length)}"}`,
      (length) => `{"a":${"[".repeat(length)}`,
      (length) => `{"a":"${'\\"'.repeat(length)}`,
    ];
    const unbounded = Object.fromEntries(Object.keys(limits).map((of) => [of, Number.POSITIVE_INFINITY]));
    for (const shape of shapes) {
      expectLinear((length) => read(shape(length), { ...limits, ...unbounded }), 5_000);
    }
  });
});

describe("server-sent events", () => {
  const stream = textLike(
    "data: a\n\ndata:b\r\n\r\n: c\n\n",
    "data: {}\ndata: 1\n\n",
    "\u{feff}data: x\r\r",
    "event: y\n\n",
  );

  it("parse alike however the stream is divided", () => {
    const all = (pieces: readonly Uint8Array[]) => {
      const reader = new EventReader(16 * 1024 * 1024);
      return [...pieces.flatMap((piece) => [...reader.push(piece)]), ...reader.end()];
    };
    fc.assert(
      fc.property(fc.array(stream), fc.array(fc.nat()), (texts, cuts) => {
        const bytes = new TextEncoder().encode(texts.join(""));
        const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
        const pieces = [...places, bytes.length].map((end, index) =>
          bytes.subarray(places[index - 1] ?? 0, end),
        );
        expect(all(pieces)).toEqual(all([bytes]));
      }),
      RUNS,
    );
  });

  it("take time in proportion to their length, even one byte at a time", () => {
    for (const text of ["data: x\n", "x", "\r", "data:\n\n"]) {
      expectLinear((length) => {
        const reader = new EventReader(16 * 1024 * 1024);
        for (const byte of new TextEncoder().encode(text.repeat(length))) reader.push(Uint8Array.of(byte));
        reader.end();
      }, 1_000);
    }
  });
});

describe("a line of an exported audit trail", () => {
  it("takes time in proportion to its length, also when it is forged", async () => {
    const bestOf = async (length: number) => {
      const line = `{"action":{}${',"about":{}'.repeat(length)},"chain":{"position":1,"digest":"0"}}`;
      let best = Number.POSITIVE_INFINITY;
      for (let run = 0; run < 3; run++) {
        const start = performance.now();
        await expect(verifyActionsExport([line])).rejects.toThrow("not an export");
        best = Math.min(best, performance.now() - start);
      }
      return Math.max(best, 0.05);
    };
    await bestOf(500);
    expect((await bestOf(500 * GROWTH)) / (await bestOf(500))).toBeLessThan(GROWTH * MAX_TIMES_LINEAR);
  });
});

describe("procedure data", () => {
  const limits = { maxTypedValues: 100 };
  const valid =
    '{"json":{"a":"2026-11-22T00:00:00Z","b":["7"]},"meta":{"values":{"a":["Date"],"b.0":["bigint"]}}}';
  const array = '{"json":{"email":{"length":9}},"meta":{"values":{"email":[["typed-array","Uint8Array"]]}}}';
  const shared = '{"json":{"s":[0]},"meta":{"values":{"s":["set"]},"referentialEqualities":{"e":["s.0"]}}}';
  const proto = '{"json":{"a":{}},"meta":{"values":{"a.__proto__.x":["undefined"],"constructor":["Date"]}}}';

  it("is either parsed or refused, and yields no types other than dates, bigints and undefined", () => {
    fc.assert(
      fc.property(fc.oneof(textLike(valid, array, shared, proto), fc.json()), (text) => {
        let data: unknown;
        try {
          data = JSON.parse(text);
        } catch {
          return;
        }
        try {
          expectPlain(readProcedureData(data, limits));
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(UnreadableData);
        }
        expect(({} as { x?: unknown }).x).toBeUndefined();
      }),
      RUNS,
    );
  });

  it("parses to the value that was serialized", () => {
    const leaf = fc.oneof(
      fc.date({ noInvalidDate: true }),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }),
      fc.string(),
    );
    const name = fc.string().filter((text) => !["__proto__", "constructor", "prototype"].includes(text));
    const value = fc.dictionary(name, fc.oneof(leaf, fc.array(leaf), fc.constant(undefined)));
    fc.assert(
      fc.property(value, (data) => {
        const written = JSON.parse(JSON.stringify(writeProcedureData(data)));
        expect(superjson.deserialize(structuredClone(written))).toEqual({ ...data });
        expect(readProcedureData(written, { maxTypedValues: 10_000 })).toEqual({ ...data });
      }),
      RUNS,
    );
  });

  it("takes time in proportion to its length", () => {
    const many = Number.POSITIVE_INFINITY;
    expectLinear((length) => {
      const json = Array.from({ length }, () => "1");
      const values = Object.fromEntries(json.map((_, index) => [index, ["bigint"]]));
      readProcedureData({ json, meta: { values } }, { maxTypedValues: many });
    }, 1_000);
  });
});

/** Throws for anything that is not plain JSON, a date, a bigint or `undefined`. */
function expectPlain(value: unknown): void {
  if (value instanceof Date || typeof value !== "object" || value === null) return;
  expect([Object.prototype, Array.prototype]).toContain(Object.getPrototypeOf(value));
  for (const inner of Object.values(value)) expectPlain(inner);
}

describe("a catalog file", () => {
  it("is either accepted, or refused with the reason and without its credentials", async () => {
    const schema = await readFile(
      new URL("../../docs/reference/catalog.schema.json", import.meta.url),
      "utf8",
    );
    const right = JSON.stringify({
      upstreams: { a: { dialect: "openai", baseUrl: "https://a.example/v1", credentialEnv: "KEY" } },
      models: [
        {
          id: "x",
          aliases: ["y"],
          prices: { inputUsdPerMTok: "1", outputUsdPerMTok: 2 },
          routes: [{ upstream: "a" }],
        },
      ],
    });
    const bomb = `a: &a [1,2]\n${"bcdefgh"
      .split("")
      .map((name, index) => `${name}: &${name} [${`*${"abcdefgh"[index]},`.repeat(9)}]`)
      .join("\n")}`;
    const load = (text: string) =>
      loadCatalog({
        path: "catalog",
        environment: { KEY: "secret-credential" },
        readFile: async () => text,
        dialects: DIALECTS,
        now: () => new Date(0),
      });
    await fc.assert(
      fc.asyncProperty(fc.oneof(textLike(right, schema, bomb, "models: ["), fc.json()), async (text) => {
        const error = await load(text).then(
          () => null,
          (thrown: unknown) => thrown,
        );
        if (error === null) return;
        expect(error).toBeInstanceOf(CatalogError);
        expect((error as CatalogError).problems.join("")).not.toContain("secret-credential");
      }),
      { numRuns: NUM_RUNS / 4 },
    );
  });
});
