import { beforeAll, describe, expect, it } from "vitest";
import { singleLine } from "../../server/src/management/procedures/inputs.ts";
import { refusalOf } from "../fixtures/operator.ts";
import { startService } from "../fixtures/service.ts";
import { sharedByFile } from "../fixtures/shared-by-file.ts";
import { type Owner, PASSWORD, signUp, visit } from "../fixtures/user.ts";

const service = sharedByFile(startService);
let owner: Owner;

beforeAll(async () => {
  owner = await signUp(service.baseUrl);
});

// The rules for labels of domain names: RFC 5892, appendix A.1 and A.2.
describe("a name with zero-width joiners or non-joiners", () => {
  it.each([
    ["Persian", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"],
    ["Persian with a vowel sign", "\u0645\u06cc\u0650\u200c\u062e\u0648\u0627\u0647\u0645"],
    ["Hindi with a half letter", "\u0915\u094d\u200d\u0937"],
    ["Hindi with a visible virama", "\u0915\u094d\u200c\u0937"],
    ["Sinhala", "\u0dc1\u0dca\u200d\u0dbb\u0dd3 \u0dbd\u0d82\u0d9a\u0dcf"],
    ["Bengali with ya-phalaa after ra", "\u09b0\u200d\u09cd\u09af\u09be\u09ac"],
  ])("is kept as it is where its script needs them: %s", async (_, name) => {
    expect((await owner.trpc.keys.create.mutate({ name })).name).toBe(name);
    expect((await owner.trpc.keys.list.query()).keys.map((key) => key.name)).toContain(name);
  });

  it.each([
    ["a non-joiner between Latin letters", "a\u200cb"],
    ["a joiner between Latin letters", "a\u200db"],
    ["at the end of a word", "\u0645\u06cc\u200c"],
    ["at the start of a word", "\u200c\u0645\u06cc"],
    ["twice", "\u0645\u06cc\u200c\u200c\u062e"],
    ["after a letter that does not connect", "\u062f\u200c\u062e"],
    ["a joiner between letters that connect anyway", "\u0645\u200d\u062e"],
    ["between Arabic and Latin", "\u0645\u200ca"],
    ["between Devanagari letters without a virama", "\u0915\u200d\u0937"],
    ["after a virama at the end of a word", "\u0915\u094d\u200d"],
    ["after a virama of another script", "a\u094d\u200db"],
    ["between emoji that make no emoji together", "\u{1f468}\u200d\u{1f469}"],
    ["after an emoji of several", "\u{1f469}\u200d\u{1f4bb}\u200d"],
    ["before an emoji of several", "a\u200d\u{1f469}\u200d\u{1f4bb}"],
  ])("is refused where no script needs them: %s", async (_, name) => {
    expect((await refusalOf(owner.trpc.keys.create.mutate({ name }))).code).toBe("invalid_request");
  });
});

describe("a name with characters that fonts do not show", () => {
  it.each([
    ["Hangul fillers", "\u3164"],
    ["a half-width Hangul filler", "\uffa0"],
    ["blank Braille patterns", "\u2800\u2800"],
    ["a grapheme joiner", "prod\u034f"],
    ["a selector of a variant that the letter does not have", "prod\ufe0f"],
    ["a selector of a variant that the digit does not have", "prod 2\ufe0f"],
    ["a selector alone", "\u{e0100}"],
    ["a selector behind an emoji of several", "\u{1f469}\u200d\u{1f4bb}\ufe0f"],
    ["a tag", "prod\u{e0061}"],
    ["tags that no flag has", "\u{1f3f4}\u{e0061}\u{e0062}\u{e007f}"],
  ])("is refused: %s", async (_, name) => {
    expect((await refusalOf(owner.trpc.keys.create.mutate({ name }))).code).toBe("invalid_request");
  });

  it.each([
    ["an emoji", "\u2764\ufe0f prod"],
    ["a keycap", "prod 2\ufe0f\u20e3"],
    ["a variant of a Chinese character", "\u845b\u{e0100}"],
    ["a variant of a Mongolian letter", "\u1820\u180b"],
    ["a Braille pattern with dots", "\u2801"],
    ["an emoji of several", "\u{1f468}\u200d\u{1f469}\u200d\u{1f466} team"],
    ["an emoji with a colour of skin and a selector", "\u{1f575}\u{1f3fd}\u200d\u2642\ufe0f"],
    ["a flag of several emoji", "\u{1f3f3}\ufe0f\u200d\u{1f308}"],
    ["a flag with tags", "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}"],
  ])("is kept as it is where they change what is shown: %s", async (_, name) => {
    expect((await owner.trpc.keys.create.mutate({ name })).name).toBe(name);
  });
});

describe("a name with spaces of other kinds, or several in a row", () => {
  it.each([
    ["two spaces", "spaced  out"],
    ["a no-break space", "spaced\u00a0out"],
    ["an em space", "spaced\u2003out"],
    ["a narrow no-break space and a space", "spaced\u202f out"],
    ["an ideographic space", "\u3000spaced\u3000out\u3000"],
  ])(
    "has one ordinary space instead, so that two names that look the same are the same: %s",
    async (_, name) => {
      const { trpc } = await signUp(service.baseUrl);
      expect((await trpc.keys.create.mutate({ name })).name).toBe("spaced out");
      expect(await refusalOf(trpc.keys.create.mutate({ name: "spaced out" }))).toMatchObject({
        code: "conflict",
      });
      expect((await trpc.keys.list.query({ search: name })).keys).toHaveLength(1);
      expect((await trpc.tokens.create.mutate({ name })).name).toBe("spaced out");
    },
  );
});

describe("the name of an account", () => {
  it("may have the joiners that its script needs, and no others", async () => {
    const { trpc } = visit(service.baseUrl);
    const signUpAs = (accountName: string) =>
      trpc.auth.signUp.mutate({
        email: `${crypto.randomUUID()}@example.com`,
        password: PASSWORD,
        accountName,
      });
    const accountName = "\u0646\u06cc\u0645\u200c\u0641\u0627\u0635\u0644\u0647";
    await signUpAs(accountName);
    expect((await trpc.account.get.query()).name).toBe(accountName);
    expect((await refusalOf(signUpAs("Acme\u200c"))).code).toBe("invalid_request");
  });
});

describe("a search for a name", () => {
  it("finds it however the letters of both are put together", async () => {
    const name = "cl\u00e9 Zu\u0308rich";
    await owner.trpc.keys.create.mutate({ name });
    for (const search of ["Cl\u00e9", "cle\u0301 z\u00fc", "ZU\u0308RICH"]) {
      const { keys } = await owner.trpc.keys.list.query({ search });
      expect(
        keys.map((key) => key.name),
        search,
      ).toEqual([name.normalize()]);
    }
  });
});

describe("a text that is too long", () => {
  it("is refused before its letters are looked at, which would take minutes", () => {
    const text = `\u0628${"\u064b".repeat(200_000)}\u200c`;
    expect(
      singleLine(64)
        .safeParse(text)
        .error?.issues.map(({ message }) => message),
    ).toEqual(["must have at most 64 characters"]);
  });
});
