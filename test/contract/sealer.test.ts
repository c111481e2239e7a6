import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Sealer } from "../../server/src/secrets/sealer.ts";

const [first, second] = [randomBytes(32), randomBytes(32)];
const CONTEXT = "account a, response b";

describe("sealed bytes", () => {
  it("open with the key and context that sealed them, and contain nothing of the plain text", () => {
    const sealer = new Sealer([first]);
    for (const plain of [Buffer.of(), Buffer.from("a prompt "), randomBytes(100_000)]) {
      const sealed = sealer.sealBytes(plain, CONTEXT);
      expect(sealed.length).toBe(plain.length + 33);
      if (plain.length > 0) expect(sealed.includes(plain)).toBe(false);
      expect(sealer.openBytes(sealed, CONTEXT)).toEqual(plain);
    }
    expect(sealer.sealBytes(Buffer.from("x"), CONTEXT)).not.toEqual(
      sealer.sealBytes(Buffer.from("x"), CONTEXT),
    );
  });

  it("do not open in another context, with another key, or when any byte was changed, added or removed", () => {
    const sealer = new Sealer([first]);
    const sealed = sealer.sealBytes(Buffer.from("a prompt"), CONTEXT);
    expect(sealer.openBytes(sealed, `${CONTEXT}2`)).toBeNull();
    expect(new Sealer([second]).openBytes(sealed, CONTEXT)).toBeNull();
    for (let place = 0; place < sealed.length; place++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(place) ^ 1, place);
      expect(sealer.openBytes(changed, CONTEXT), `byte ${place}`).toBeNull();
      expect(sealer.openBytes(sealed.subarray(0, place), CONTEXT), `${place} bytes`).toBeNull();
    }
    expect(sealer.openBytes(Buffer.concat([sealed, Buffer.of(0)]), CONTEXT)).toBeNull();
  });

  it("open after the key was replaced, as long as the former one is still given", () => {
    const sealed = new Sealer([first]).sealBytes(Buffer.from("a prompt"), CONTEXT);
    const both = new Sealer([second, first]);
    expect(both.openBytes(sealed, CONTEXT)?.toString()).toBe("a prompt");
    const sealedNow = both.sealBytes(Buffer.from("a prompt"), CONTEXT);
    expect(new Sealer([first]).openBytes(sealedNow, CONTEXT)).toBeNull();
    expect(new Sealer([second]).openBytes(sealedNow, CONTEXT)?.toString()).toBe("a prompt");
  });
});

describe("a sealed text", () => {
  const sealer = new Sealer([first]);

  it("is base64url after its prefix, and opens in its context", () => {
    const sealed = sealer.seal("signature ✓", CONTEXT);
    expect(sealed).toMatch(/^ost1\.[\w-]+$/);
    expect(sealer.open(sealed, CONTEXT)).toBe("signature ✓");
    expect(sealer.open(sealed, "another")).toBeNull();
  });

  it("never opens as bytes, nor bytes as a text", () => {
    const sealed = sealer.seal("signature", CONTEXT);
    expect(sealer.openBytes(Buffer.from(sealed.slice(5), "base64url"), CONTEXT)).toBeNull();
    const bytes = sealer.sealBytes(Buffer.from("signature"), CONTEXT);
    expect(sealer.open(`ost1.${bytes.toString("base64url")}`, CONTEXT)).toBeNull();
  });

  it("is refused in any other form", () => {
    const sealed = sealer.seal("signature", CONTEXT);
    const others = [
      "",
      "ost1.",
      "ost1.AAAA",
      sealed.slice(1),
      `${sealed}!`,
      `${sealed} `,
      `${sealed}=`,
      sealed.slice(0, -2),
    ];
    for (const other of others) expect(sealer.open(other, CONTEXT), other).toBeNull();
  });
});

describe("a sealer", () => {
  it("needs at least one key, of 32 bytes", () => {
    expect(() => new Sealer([])).toThrow(RangeError);
    expect(() => new Sealer([randomBytes(16)])).toThrow(RangeError);
  });
});
