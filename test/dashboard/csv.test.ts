import { afterEach, describe, expect, it, vi } from "vitest";
import { downloadCsv } from "../../dashboard-ui/src/components/csv.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** The file that the browser gets. */
async function fileOf(text: string): Promise<string> {
  const created = vi.spyOn(URL, "createObjectURL");
  vi.stubGlobal("document", { createElement: () => ({ click: () => {} }) });
  downloadCsv("rows", [{ name: "text", read: (row: string) => row }], [text]);
  const [[file] = []] = created.mock.calls;
  return (file as Blob).text();
}

describe("a CSV file of the dashboard", () => {
  it.each([
    ["plain, text", '"plain, text"'],
    ["=1", "'=1"],
    ["＝1", "'＝1"],
    ["\n-1", `"'\n-1"`],
    ["a;=1;;@x; ;b", "a;'=1;;'@x; ;b"],
    ['a;"=1', `"a;""'=1"`],
    [" =1", "' =1"],
    ["a; \u00a0+1", "a;' \u00a0+1"],
    ["\ufeff@x", "'\ufeff@x"],
    ["\u200b=1", "'\u200b=1"],
    [" plain; text -1", " plain; text -1"],
  ])("turns no text into a formula, whichever sign separates its fields: %j", async (text, cell) => {
    expect(await fileOf(text)).toBe(`text\r\n${cell}\r\n`);
  });
});
