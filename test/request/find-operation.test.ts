import { describe, expect, it } from "vitest";
import type { Operation } from "../../server/src/operations/operation.ts";
import { OperationTable } from "../../server/src/request/find-operation.ts";

/** Operations by method and path; what they do is not asked for. */
function tableOf(...operations: readonly (readonly [method: string, path: string])[]): OperationTable {
  return new OperationTable(
    operations.map(([method, path]) => ({ kind: "public", method, path }) as unknown as Operation),
  );
}

describe("the operations at a path", () => {
  const table = tableOf(
    ["GET", "/v1/keys"],
    ["GET", "/v1/keys/{id}/usage"],
    ["GET", "/v1/responses/{id}"],
    ["DELETE", "/v1/responses/{id}"],
  );

  it.each([
    ["/v1/responses/resp_1", "resp_1"],
    ["/v1/responses/a%2Fb", "a/b"],
    // As a client sends it that has copied the path of the documentation.
    ["/v1/responses/{id}", "{id}"],
  ])("have the segment in the place of their parameter: %s", (path, id) => {
    const found = [...table.at(path)].map(({ operation, parameters }) => [operation.method, parameters]);
    expect(found).toEqual([
      ["GET", { id }],
      ["DELETE", { id }],
    ]);
  });

  it("are the same with a slash at the end, and none at an empty parameter", () => {
    expect([...table.at("/v1/keys/")].map(({ operation }) => operation.path)).toEqual(["/v1/keys"]);
    expect([...table.at("/v1/keys//usage")]).toEqual([]);
    expect([...table.at("/v1/keys/usage")]).toEqual([]);
  });
});
