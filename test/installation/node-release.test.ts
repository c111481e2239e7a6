import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, it } from "vitest";
import { nodeWarning, runsOn } from "../../server/src/start/node-release.ts";
import { ROOT } from "../fixtures/service.ts";

/** Runs a program of the service with a Node that says to be of another version. */
function runOn(version: string, ...command: readonly string[]) {
  const pretend = `Object.defineProperty(process.versions, "node", { value: "${version}" });`;
  const url = `data:text/javascript,${encodeURIComponent(pretend)}`;
  const env = { PATH: process.env.PATH ?? "", PORT: "nonsense" };
  const [file = "", ...args] = command;
  return spawnSync(process.execPath, ["--import", url, join(ROOT, "server/dist", file), ...args], {
    encoding: "utf8",
    cwd: "/",
    env,
  });
}

describe("a version of Node", () => {
  it.each([["ostiary-server.js", "start"], ["ostiary-server.js", "check-config"], ["main.js"]])(
    "that is too old ends %j with what to do, before it is loaded",
    (...command) => {
      const { status, stderr, stdout } = runOn("18.20.8", ...command);
      expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
      expect(JSON.parse(stderr)).toMatchObject({
        level: "fatal",
        msg: expect.stringMatching(/^The service does not run on Node 18\.20\.8\. Install Node /),
      });
      // It gets to its settings otherwise.
      expect(runOn(process.versions.node, ...command).stderr).toContain("PORT: ");
    },
  );

  it("is too old if the manifest says so, or if it lacks what the service uses", async () => {
    const versions = [
      "16.20.2",
      "18.20.8",
      "20.18.3",
      "20.19.0",
      "21.7.3",
      "22.1.0",
      "22.2.0",
      "24.0.0",
      "31.0.0",
    ];
    expect(versions.filter(runsOn)).toEqual(["20.19.0", "22.2.0", "24.0.0", "31.0.0"]);
    const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    const oldest = manifest.engines.node.match(/\d+\.\d+\.\d+/g);
    expect(oldest).toEqual(versions.filter(runsOn).slice(0, 2));
  });

  it("that gets no security fixes any more is warned of, from the day after the last", () => {
    const at = (version: string, day: string) => nodeWarning(version, new Date(`${day}T12:00:00Z`));
    expect(at("22.20.0", "2027-04-30")).toBeNull();
    expect(at("22.20.0", "2027-05-01")).toBe(
      "Node 22.20.0 has had no security fixes since 2027-04-30. Run the service on a newer line of Node.",
    );
    expect(at("31.0.0", "2040-01-01")).toBeNull();
  });
});
