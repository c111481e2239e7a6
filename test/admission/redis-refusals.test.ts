import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../server/src/config/config.ts";
import { openAdmissionStore } from "../../server/src/start/open-admission-store.ts";

/** What a server answers to commands; `+OK` to those that are not named. */
type Answers = Readonly<Record<string, string>>;

/** A server of Redis' protocol. Of each command only the name is read. */
async function startRefusing(answers: Answers) {
  const server = createServer((socket) => {
    socket
      .on("error", () => {})
      .on("data", (sent) => {
        for (const [, name = ""] of String(sent).matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g))
          socket.write(`${answers[name.toLowerCase()] ?? "+OK"}\r\n`);
      });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

describe("a service whose Redis can't be used", () => {
  const info = "$15\r\nredis_version:6";
  const compiling = "-ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'";

  it.each<[string, string, Answers]>([
    ["Use Redis 7 or newer, or Valkey 8 or newer", "", { info, eval: compiling }],
    [
      "Correct the user and the password of REDIS_URL",
      "me:hunter2@",
      {
        info: "-NOAUTH Authentication required.",
        auth: "-WRONGPASS invalid username-password pair or user is disabled.",
      },
    ],
    [
      "Correct the user and the password of REDIS_URL",
      "",
      { info: "-NOAUTH Authentication required.", eval: "-NOAUTH Authentication required." },
    ],
    ["Raise maxclients of Redis", "", { info: "-ERR max number of clients reached" }],
  ])("says what to do: %s", async (hint, user, answers) => {
    await using redis = await startRefusing(answers);
    const config = readConfig({ REDIS_URL: `redis://${user}${redis.host}` });
    const opening = openAdmissionStore(config, pino({ level: "silent" }), () => {});
    const refusal = await opening.then(() => "", String);
    expect(refusal).toContain(`Cannot use the Redis of REDIS_URL (${redis.host}): `);
    expect(refusal).toContain(hint);
    expect(refusal).not.toContain("hunter2");
  });
});
