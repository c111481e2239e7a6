import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RestingConnections } from "../../server/src/http/resting-connections.ts";

const BODY = "body";
const REQUEST = `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${BODY.length}\r\n\r\n`;
const CLIENTS = 300;
const READ_IN_TURN = 128;

describe("a connection that rests after each of its requests", () => {
  let server: Server;
  let requests: number;
  /** The turns of the event loop in which connections are read again. */
  let turns: number;
  beforeEach(async () => {
    requests = 0;
    turns = 0;
    const resting = new RestingConnections(() => {
      turns++;
      return READ_IN_TURN;
    });
    server = createServer(async (request, response) => {
      resting.rest(request.socket);
      requests++;
      let text = "";
      for await (const part of request) text += part;
      response.end(text);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });

  const client = async () => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    await once(socket, "connect");
    let text = "";
    socket.setEncoding("latin1").on("data", (part: string) => {
      text += part;
    });
    return { socket, answers: () => text.split("HTTP/1.1 200").length - 1 };
  };

  it("gets a body that comes after its head", async () => {
    const { socket, answers } = await client();
    socket.write(REQUEST);
    await expect.poll(() => turns).toBe(1);
    socket.write(BODY);
    await expect.poll(answers).toBe(1);
    socket.destroy();
  });

  it("is read again when it is its turn, some of them in each turn", async () => {
    const clients = await Promise.all(Array.from({ length: CLIENTS }, client));
    for (const { socket } of clients) {
      let more = 2;
      socket.on("data", () => more-- > 0 && socket.write(`${REQUEST}${BODY}`));
      socket.write(`${REQUEST}${BODY}`);
    }
    await expect.poll(() => clients.map(({ answers }) => answers())).toEqual(clients.map(() => 3));
    expect(requests).toBe(3 * CLIENTS);
    await expect.poll(() => turns).toBeGreaterThanOrEqual((3 * CLIENTS) / READ_IN_TURN);
    for (const { socket } of clients) socket.destroy();
  });

  it("does not hold up the others when its client goes", async () => {
    const [gone, stays] = [await client(), await client()];
    gone.socket.write(`${REQUEST}${BODY}`.repeat(3), () => gone.socket.destroy());
    stays.socket.write(`${REQUEST}${BODY}`.repeat(3));
    await expect.poll(stays.answers).toBe(3);
    stays.socket.destroy();
  });
});
