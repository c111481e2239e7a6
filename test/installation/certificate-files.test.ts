import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../server/src/config/config.ts";
import { readTlsPair } from "../../server/src/http/tls-pair.ts";
import { Authority, type Certificate, hasOpenSsl } from "../fixtures/certificate.ts";

describe.skipIf(!hasOpenSsl)("a file of several certificates of which one is cut off", () => {
  let folder: string;
  let authority: Authority;
  let own: Certificate;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "ostiary-certificates-"));
    authority = new Authority();
    own = authority.sign();
  });

  afterAll(async () => {
    authority?.[Symbol.dispose]();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  /** A file with a whole certificate, and the beginning of the authority's. */
  async function written(share: number): Promise<string> {
    const file = join(folder, "chain.pem");
    const { pem } = authority;
    await writeFile(file, own.cert + pem.slice(0, Math.floor(pem.length * share)));
    return file;
  }

  it("is refused as TLS_CERT_FILE with what is wrong, before the service listens", async () => {
    const keyFile = join(folder, "tls.key");
    await writeFile(keyFile, own.key);
    await expect(readTlsPair({ certFile: await written(0.5), keyFile })).rejects.toThrow(
      /^TLS_CERT_FILE: the certificates of .*chain\.pem cannot be used/,
    );
    expect(await readTlsPair({ certFile: await written(1), keyFile })).toMatchObject({ key: own.key });
  });

  it.each(["DATABASE_CA_FILE", "REDIS_CA_FILE"])("is refused as %s", async (name) => {
    const stores = { DATABASE_URL: "postgres://db.example/x", REDIS_URL: "rediss://redis.example" };
    const file = await written(0.5);
    const read = () => readConfig({ ...stores, [name]: file });
    expect(read).toThrow(`${name}: the file ${file} has a certificate without an end`);
    await written(1);
    expect(read).not.toThrow();
  });

  it("is refused as DATABASE_CA_FILE if the URL turns TLS off", async () => {
    const DATABASE_CA_FILE = await written(1);
    const read = (mode: string) => () =>
      readConfig({ DATABASE_URL: `postgres://db.example/x?${mode}`, DATABASE_CA_FILE });
    for (const mode of ["sslmode=disable", "ssl=false"])
      expect(read(mode)).toThrow(
        "DATABASE_CA_FILE: must not be set together with a DATABASE_URL that turns TLS off",
      );
    expect(read("sslmode=require")).not.toThrow();
  });
});
