import { describe, expect, it } from "vitest";
import type { ListedModel } from "../../dashboard-ui/src/api/types.ts";
import { firstChatModelOf } from "../../dashboard-ui/src/pages/models/model.ts";

function model(id: string, { output = "text", sandbox = false } = {}): ListedModel {
  return {
    id,
    aliases: [],
    ownedBy: "acme",
    created: 0,
    sandbox,
    contextTokens: null,
    maxOutputTokens: null,
    modalities: { input: ["text"], output: [output as "text"] },
    prices: null,
  };
}

describe("the model that examples and the playground begin with", () => {
  const vectors = model("acme/vectors", { output: "embedding" });
  const echo = model("sandbox/echo", { sandbox: true });

  it("is the first chat model in the catalog's own order", () => {
    expect(firstChatModelOf([vectors, model("acme/new"), model("acme/archived")])?.id).toBe("acme/new");
  });

  it("is one of the sandbox only if there is no other", () => {
    expect(firstChatModelOf([echo, model("ollama/llama")])?.id).toBe("ollama/llama");
    expect(firstChatModelOf([vectors, echo])?.id).toBe("sandbox/echo");
  });

  it("is none if no model chats", () => {
    expect(firstChatModelOf([vectors])).toBeUndefined();
  });
});
