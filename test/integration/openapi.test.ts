import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERROR_CODES } from "../../sdk/src/contract/error-codes.ts";
import { type Service, startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";

let service: Service;
// biome-ignore lint/suspicious/noExplicitAny: a document of any shape, until it has been looked at
let document: any;

beforeAll(async () => {
  service = await startService();
  const response = await fetch(`${service.baseUrl}/v1/openapi.json`);
  expect(response.status).toBe(200);
  document = await response.json();
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

describe("the OpenAPI document", () => {
  it("is public, and contains the service's address", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(document.servers).toEqual([{ url: service.baseUrl }]);
    expect(document.components.schemas.Error.properties.error.properties.code.enum).toEqual(
      Object.keys(ERROR_CODES),
    );
  });

  it("contains only operations that exist, and no dangling reference", async () => {
    const { key } = await signUpWithKey(service.baseUrl);
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const method of Object.keys(operations as object)) {
        const response = await fetch(`${service.baseUrl}${path.replace("{id}", "sandbox/echo")}`, {
          method: method.toUpperCase(),
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          ...(method === "post" ? { body: "{}" } : {}),
        });
        expect([200, 400], `${method} ${path}`).toContain(response.status);
        await response.arrayBuffer();
      }
    }
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
    expect(references.length).toBeGreaterThan(5);
    for (const [, name = ""] of references) expect(document.components.schemas).toHaveProperty(name);
  });

  it("describes requests by the schemas that validate them", async () => {
    const { schema } = document.paths["/v1/chat/completions"].post.requestBody.content["application/json"];
    expect(schema.required).toEqual(["model", "messages"]);
    expect(JSON.stringify(schema.properties.temperature)).toContain('"maximum":2');
    const { key } = await signUpWithKey(service.baseUrl);
    const response = await fetch(`${service.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "sandbox/echo",
        messages: [{ role: "user", content: "hi" }],
        temperature: 2.1,
      }),
    });
    expect(await response.json()).toMatchObject({ error: { code: "invalid_request", param: "temperature" } });
  });
});
