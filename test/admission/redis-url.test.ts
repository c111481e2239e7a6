import { describe, expect, it } from "vitest";
import { clusterViewOf, hashTagFor, newestView } from "../../server/src/admission/cluster-view.ts";
import { parseRedisUrl, RedisUrlError } from "../../server/src/config/redis-url.ts";

describe("REDIS_URL", () => {
  it("names a server, with all that ioredis reads from it", () => {
    expect(parseRedisUrl("rediss://user:p%40ss@redis.internal/3")).toEqual({
      kind: "server",
      url: "rediss://user:p%40ss@redis.internal/3",
      hosts: [{ host: "redis.internal", port: 6379 }],
    });
  });

  it("names servers of a cluster", () => {
    expect(parseRedisUrl("redis+cluster://a,[::1]:7000,10.0.0.1:7001")).toEqual({
      kind: "cluster",
      hosts: [
        { host: "a", port: 6379 },
        { host: "::1", port: 7000 },
        { host: "10.0.0.1", port: 7001 },
      ],
      isTls: false,
      username: null,
      password: null,
    });
    expect(parseRedisUrl("rediss+cluster://user:p%40ss%2C@a:1/0")).toMatchObject({
      isTls: true,
      username: "user",
      password: "p@ss,",
    });
  });

  it("names sentinels, their primary, a database, and the users of both", () => {
    expect(parseRedisUrl("redis+sentinel://:secret@a,b:1/main/2?sentinel_password=other%2B")).toEqual({
      kind: "sentinel",
      hosts: [
        { host: "a", port: 26_379 },
        { host: "b", port: 1 },
      ],
      name: "main",
      database: 2,
      isTls: false,
      username: null,
      password: "secret",
      sentinelUser: { username: null, password: "other+" },
    });
  });

  it.each([
    "http://a",
    "redis://a,b:2",
    "redis://a/abc",
    "redis://a/1/2",
    "redis://a/123456",
    "redis://:secret@a?tls=true",
    "redis://:secret@a/1?keyPrefix=b",
    "redis://a?family=secret",
    "redis:///1",
    "redis+cluster://",
    "redis+cluster://a, b",
    "redis+cluster://a,,b",
    "redis+cluster://a:0",
    "redis+cluster://a:70000",
    "redis+cluster://a/1",
    "redis+cluster://a?db=1",
    "redis+cluster://secret:p%zz@a",
    "redis+sentinel://a",
    "redis+sentinel://a/",
    "redis+sentinel://a/name/x",
    "redis+sentinel://a/name?password=secret",
    "redis+other://secret@a",
  ])("is refused as %s, and the reason does not repeat it", (url) => {
    const parse = () => parseRedisUrl(url);
    expect(parse).toThrow(RedisUrlError);
    expect(parse).not.toThrow(/secret/);
  });

  it("names the version of IP that a name is resolved to", () => {
    expect(parseRedisUrl("redis://a?family=6").kind).toBe("server");
  });

  it.each(["redis://a?ssl=true", "redis+sentinel://a/main?tls=1"])("says how to ask for TLS: %s", (url) => {
    expect(() => parseRedisUrl(url)).toThrow("For TLS begin the URL with rediss");
  });

  it.each([
    "redis://a:99999",
    "redis://user:secret@[::1]:65536/1",
    "redis://a:0",
    "redis+cluster://a,b:123456",
    "redis+sentinel://a:0/name",
  ])("is refused as %s for its port alone", (url) => {
    expect(() => parseRedisUrl(url)).toThrow("must have a port from 1 to 65535");
  });
});

describe("what a server of a cluster knows about it", () => {
  const asked = { host: "asked", port: 1 };
  const slots = (...rows: unknown[]) => rows;

  it("is read with the hosts that it does not know left out, and its own filled in", () => {
    const answer = slots([0, 99, ["", 7000, "id"], ["?", 7001, "id"]], [100, 16383, ["b", 7002, "id", []]]);
    expect(clusterViewOf("cluster_state:ok\r\ncluster_current_epoch:12\r\n", answer, asked)).toEqual({
      epoch: 12,
      ranges: [
        { first: 0, last: 99, primary: { host: "asked", port: 7000 }, servers: expect.anything() },
        { first: 100, last: 16383, primary: { host: "b", port: 7002 }, servers: expect.anything() },
      ],
      servers: [
        { host: "asked", port: 7000 },
        { host: "b", port: 7002 },
      ],
    });
    expect(clusterViewOf("", slots(), asked)).toBe(null);
    expect(clusterViewOf("", null, asked)).toBe(null);
  });

  it("counts less than what one knows that has heard of a later failover", () => {
    const viewAt = (epoch: number, host: string) =>
      clusterViewOf(`cluster_current_epoch:${epoch}`, slots([0, 16383, [host, 1]]), asked);
    const views = [viewAt(3, "old"), viewAt(10, "new"), viewAt(9, "old")].filter((view) => view !== null);
    expect(newestView(views)?.ranges[0]?.primary.host).toBe("new");
    expect(newestView([])).toBe(null);
  });

  it("gives each primary a key of its own, even if it has a single hash slot", () => {
    for (const slot of [0, 8_191, 16_383]) expect(hashTagFor((other) => other === slot)).not.toBe(null);
    expect(hashTagFor(() => false)).toBe(null);
  });
});
