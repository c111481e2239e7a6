import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../server/src/config/config.ts";
import { ROOT } from "../fixtures/service.ts";

const UNIT = join(ROOT, "deploy/systemd/ostiary.service");
const hasSystemd = spawnSync("systemd-analyze", ["--version"]).error === undefined;
if (!hasSystemd) process.stderr.write("systemd does not check its unit: it needs systemd-analyze.\n");

describe("the unit of systemd", () => {
  it.skipIf(!hasSystemd)("has no fault for systemd, and little exposure", async () => {
    const folder = await mkdtemp(join(tmpdir(), "ostiary-unit-"));
    // systemd looks for the programs, which are elsewhere here.
    const text = (await readFile(UNIT, "utf8")).replaceAll("/usr/bin/node", process.execPath);
    await writeFile(join(folder, "ostiary.service"), text);
    const verified = spawnSync("systemd-analyze", ["verify", join(folder, "ostiary.service")], {
      encoding: "utf8",
    });
    const security = spawnSync(
      "systemd-analyze",
      ["security", "--offline=true", "--threshold=20", "--no-pager", join(folder, "ostiary.service")],
      { encoding: "utf8" },
    );
    await rm(folder, { recursive: true, force: true });
    const complaints = verified.stderr.split("\n").filter((line) => line.includes("ostiary.service"));
    expect(complaints).toEqual([]);
    expect(verified.status).toBe(0);
    expect(security, security.stderr).toMatchObject({ status: 0 });
  });

  it("names documentation that is installed with the service", async () => {
    const unit = await readFile(UNIT, "utf8");
    const folder = /^ExecStart=.* (\/\S+\/ostiary-server)\/server\/dist\//m.exec(unit)?.[1];
    // The package's README: see scripts/pack-server.mjs.
    expect(/^Documentation=(.*)$/m.exec(unit)?.[1]).toBe(`file:${folder}/README.md`);
  });

  it("gives the service longer to stop than its shutdown takes", async () => {
    const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(await readFile(UNIT, "utf8"))?.[1]);
    const { prestopS, drainS } = readConfig({ TRUSTED_PROXIES: "127.0.0.1" });
    expect(seconds).toBeGreaterThan(prestopS + drainS + 5);
  });
});
