import { createHash } from "node:crypto";
import { Command, type Redis } from "ioredis";
import type { SharedTimeouts } from "../errors/shared-timeouts.ts";

export type ScriptArgument = string | number;

/**
 * A Lua script that decides on keys of one account, and is sent whole only once on each connection. `Reply` is what it returns: numbers,
 * and texts as bytes.
 *
 * ioredis has scripts, too. It copies their arguments several times, converts every part of their replies, and starts a timer for each
 * call: twice the time on Node, and three times on Deno.
 */
export class RedisScript<Reply> {
  readonly lua: string;
  /** Whether a call that Redis has not executed may be sent again later. */
  readonly mayRepeat: boolean;
  /** What follows the number of parts of a call, up to its keys. */
  readonly #whole: string;
  readonly #byDigest: string;
  /** What is appended to the account's key for each of `KEYS`; ASCII. */
  readonly #keyParts: readonly string[];
  /** The connections that the script has been sent on. */
  readonly #sentOn = new WeakSet<object>();

  constructor(lua: string, keyParts: readonly string[], { mayRepeat = true } = {}) {
    this.lua = lua;
    const keyCount = partOf(keyParts.length);
    const digest = createHash("sha1").update(lua).digest("hex");
    this.#whole = `${partOf("EVAL")}${partOf(lua)}${keyCount}`;
    this.#byDigest = `${partOf("EVALSHA")}${partOf(digest)}${keyCount}`;
    this.#keyParts = keyParts;
    this.mayRepeat = mayRepeat;
  }

  /** Runs the script. The call is sent before this function yields, after those before it. */
  async run(
    client: Redis,
    timeouts: SharedTimeouts,
    key: string,
    args: readonly ScriptArgument[],
  ): Promise<Reply> {
    let parts = this.#keysOf(key);
    for (const arg of args) parts += partOf(arg);
    const call = new ScriptCall(this, parts, args.length);
    const timeout = timeouts.begin(() => call.reject(new Error("Redis did not answer in time")));
    try {
      return (await client.sendCommand(call)) as Reply;
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      // Redis has forgotten the script, as SCRIPT FLUSH has it do.
      if (call.connection !== null) this.#sentOn.delete(call.connection);
      if (!this.mayRepeat) throw error;
      return await this.run(client, timeouts, key, args);
    } finally {
      timeout.clear();
    }
  }

  /** How a call begins on this connection, after the number of its parts. */
  beginningOn(connection: object): string {
    if (this.#sentOn.has(connection)) return this.#byDigest;
    this.#sentOn.add(connection);
    return this.#whole;
  }

  /** The number of a call's parts. */
  partsOf(argCount: number): number {
    return 3 + this.#keyParts.length + argCount;
  }

  #keysOf(key: string): string {
    const keyBytes = Buffer.byteLength(key);
    let text = "";
    for (const part of this.#keyParts) text += `$${keyBytes + part.length}\r\n${key}${part}\r\n`;
    return text;
  }
}

/** A command of ioredis that is written as one text. */
class ScriptCall extends Command {
  /** The connection that it was written to. */
  connection: object | null = null;
  readonly #script: RedisScript<unknown>;
  readonly #keysAndArgs: string;
  readonly #argCount: number;

  constructor(script: RedisScript<unknown>, keysAndArgs: string, argCount: number) {
    super("evalsha");
    this.#script = script;
    this.#keysAndArgs = keysAndArgs;
    this.#argCount = argCount;
  }

  override toWritable(connection: object): string {
    this.connection = connection;
    return `*${this.#script.partsOf(this.#argCount)}\r\n${this.#script.beginningOn(connection)}${this.#keysAndArgs}`;
  }

  /** Replaces the timer of ioredis: {@link RedisScript.run} has a shared one. */
  override setTimeout(): void {}
}

/** A part of a command. @see https://redis.io/docs/latest/develop/reference/protocol-spec/#bulk-strings */
function partOf(value: ScriptArgument): string {
  const text = String(value);
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("NOSCRIPT");
}
