import { describe, expect, it } from "vitest";
import { isJsonObject } from "../../server/src/json/json.ts";
import { JsonBody } from "../../server/src/json/json-body.ts";
import { ChunkEditor } from "../../server/src/upstream/openai/chunk-editor.ts";

/** What a chunk is to become, found without what was seen of others. */
function letterByLetter(text: string, hidesUsage: boolean): string | null {
  const body = JsonBody.parse(text);
  if (body === null) return null;
  return body.textWith(
    hidesUsage && "usage" in body.value ? { model: "acme/m", usage: undefined } : { model: "acme/m" },
  );
}

function editor(hidesUsage: boolean) {
  const chunks = new ChunkEditor("acme/m", hidesUsage);
  return (text: string) => chunks.edit(text)?.text ?? null;
}

const chunk = (rest: string) => `{"id":"1","model":"inner","choices":[{"delta":{"content":"a"}}]${rest}}`;

describe("the chunks of a stream", () => {
  it.each([
    ["that are alike", ["", "", ""]],
    ["with usage that is not known yet, as OpenAI's server sends them", [',"usage":null', ',"usage":null']],
    ["of which the last tells usage", ["", ',"usage":{"prompt_tokens":1}']],
    ["whose usage stands before something else", ["", ',"usage":null,"x":1']],
    ["that name their model twice", ["", ',"model":"inner"', ',"model":"other"', ',"\\u006dodel":"other"']],
    [
      "that write usage otherwise",
      ["", ', "usage" : null ', ',"us\\u0061ge":null', ',"usage":null,"usage":null'],
    ],
    [
      "that have such words where they mean nothing",
      ["", ',"x":"\\"usage\\":null}"', ',"x":{"y":1,"usage":null}'],
    ],
    ["that are no JSON at the end", ["", ',"usage":nul', ',"usage":null}']],
  ])("%s are edited as by the reference implementation", (_, rests) => {
    for (const hidesUsage of [true, false]) {
      const edit = editor(hidesUsage);
      for (const rest of rests) expect(edit(chunk(rest)), rest).toBe(letterByLetter(chunk(rest), hidesUsage));
    }
  });

  it("are edited as by the reference implementation, whatever they contain", () => {
    let seed = 11;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * below);
    };
    const members = [
      '"id":"1"',
      '"id":"2"',
      '"model":"inner"',
      '"model": "inner"',
      '"model":"inner2"',
      '"model":null',
      '"usage":null',
      '"usage":{"total_tokens":1}',
      '"choices":[{"delta":{"content":"{\\"model\\":1}"}}]',
      '"choices":[]',
      '"x":",\\"usage\\":null}"',
      '"x":{"model":"inner","usage":null}',
      '"\\"model":"inner"',
      '"id":"\\u00e9"',
    ];
    for (let stream = 0; stream < 400; stream++) {
      const hidesUsage = random(2) === 0;
      const edit = editor(hidesUsage);
      // Mostly alike, as chunks are.
      const kept = members.filter(() => random(3) === 0);
      for (let number = 0; number < 12; number++) {
        const own = random(2) === 0 ? kept : [...kept, members[random(members.length)] ?? ""];
        const text = `{${own.join(random(8) === 0 ? ", " : ",")}}`;
        expect(edit(text), text).toBe(letterByLetter(text, hidesUsage));
      }
    }
  });

  it("are returned with their original content, and malformed ones as null", () => {
    const chunks = new ChunkEditor("acme/m", true);
    for (let number = 0; number < 3; number++) {
      const edited = chunks.edit(chunk(',"usage":null'));
      expect(isJsonObject(edited?.value) && edited.value.model).toBe("inner");
      expect(edited?.value).toHaveProperty("usage", null);
    }
    expect(chunks.edit('{"id":"1","model":"inner"')).toBeNull();
    expect(chunks.edit("[]")).toBeNull();
  });
});
