import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { ERROR_HELP, errorHelp } from "../../dashboard-ui/src/pages/audit/error-help.ts";

describe("the explanation of an error code", () => {
  it("is that of the documentation, for every code", async () => {
    const document = await readFile(new URL("../../docs/reference/errors.md", import.meta.url), "utf8");
    const documented = document
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .map((line) => line.split("|").map((cell) => cell.trim()))
      .map(([, code = "", , , meaning, whatToDo]) => [code.replaceAll("`", ""), `${meaning} ${whatToDo}`]);
    expect(ERROR_HELP).toEqual(Object.fromEntries(documented));
  });

  it("is left out for a code that this version does not know", () => {
    expect(errorHelp("constructor")).toBeNull();
  });
});
