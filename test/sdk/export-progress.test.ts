import { describe, expect, it } from "vitest";
import type { AuditExportParams } from "../../sdk/src/index.ts";
import { answersInTurn, newClient } from "./fake-service.ts";

const ENTRY = "~01936ef4-0000-7000-8000-00000000000";
const csv = (numbers: readonly number[]) =>
  numbers.map((number) => `${number},9${ENTRY}${number}\n`).join("");
const ndjson = (numbers: readonly number[]) =>
  numbers.map((number) => `{"id":"${number}","cursor":"9${ENTRY}${number}"}\n`).join("");
const proved = (numbers: readonly number[]) =>
  `{"proof":{"export":{}},"cursor":"9~0"}\n${ndjson(numbers)}{"proof":{"end":{}},"cursor":"9${ENTRY}9~1-1~end"}\n`;

/** A service whose whole export arrives as one piece of text, from the cursor's line on. */
function exportOf(params: AuditExportParams, write: (numbers: readonly number[]) => string, head = "") {
  const fetch = answersInTurn();
  fetch.mockImplementation(async (url) => {
    const cursor = new URL(String(url)).searchParams.get("cursor");
    const after = cursor === null ? 0 : Number(cursor.at(-1));
    const text = write([1, 2, 3, 4, 5].filter((number) => number > after));
    return new Response(cursor === null ? head + text : text);
  });
  return newClient({ fetch }).audit.export(params);
}

describe("the progress of an export that is iterated over line by line", () => {
  it.each([
    ["ndjson", "", ndjson],
    ["csv", "id,cursor\n", csv],
  ] as const)(
    "is that of the line: %s continues after any entry that it is left at",
    async (format, head, write) => {
      const read: string[] = [];
      let cursor: string | undefined;
      for (const left of [2, 2, 1, 9]) {
        const lines = exportOf({ format, cursor }, write, head);
        let taken = 0;
        for await (const line of lines) {
          read.push(line);
          taken++;
          expect(lines.progress.characters).toBe(read.slice(-taken).join("\n").length + 1);
          if (taken === left) break;
        }
        cursor = lines.progress.cursor ?? undefined;
      }
      expect(`${read.join("\n")}\n`).toBe(head + write([1, 2, 3, 4, 5]));
    },
  );

  it("counts the entries up to the line, without the header of CSV and the lines of a proof", async () => {
    const counts = async (params: AuditExportParams, write: typeof csv, head?: string) => {
      const lines = exportOf(params, write, head);
      const counted: [number, number | undefined][] = [];
      for await (const _ of lines) counted.push([lines.progress.lines, lines.progress.timestamp?.getTime()]);
      return counted;
    };
    const atMs = 0x01936ef40000;
    const entries = [1, 2, 3, 4, 5].map((number) => [number, atMs]);
    expect(await counts({ format: "csv" }, csv, "id,cursor\n")).toEqual([[0, undefined], ...entries]);
    expect(await counts({ proof: true }, proved)).toEqual([[0, undefined], ...entries, [5, atMs]]);
  });
});
