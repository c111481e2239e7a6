import type { Locator } from "playwright-core";
import { describe, expect, it } from "vitest";
import { violationsOf } from "../fixtures/axe.ts";
import { hasBrowser } from "../fixtures/browser.ts";
import { toastOf } from "../fixtures/menu.ts";
import { chunkOf } from "../fixtures/model-server.ts";
import {
  answerInStream,
  composerOf,
  endStream,
  figureOf,
  messageOn,
  openPlaygroundSite,
  say,
  sayAndHear,
} from "./playground-site.ts";

const playground = openPlaygroundSite();

const MARKDOWN = `# Title

Some **bold** text, [a link](https://example.com/) and [a path](/settings/keys).

\`\`\`python
print("hello")
\`\`\`

| a | b |
|---|---|
| 1 | 2 |

<img src=x onerror="document.title='taken'"> <script>document.title = "taken"</script>

![spy](https://example.com/spy.png) [run](javascript:alert(1))
`;

const PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

describe.skipIf(!hasBrowser)("an answer in the playground", () => {
  it("shows the images that a model produces, also after a reload, and sends them back with the next message", async () => {
    const { page, complaints } = await playground.openPlayground();
    const image = {
      type: "image_url",
      index: 0,
      image_url: { url: PIXEL },
      extra_content: { google: { a: 1 } },
    };
    const elsewhere = { type: "image_url", index: 1, image_url: { url: "https://example.com/spy.png" } };
    playground.answerWith(({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ role: "assistant", content: "" }));
      response.write(chunkOf({ images: [image, elsewhere] }));
      endStream(response);
    });
    await sayAndHear(page, "Draw a pixel");
    const shown = messageOn(page, 2).getByRole("img", { name: "Output 1 of the model" });
    const loadedWidth = () =>
      shown.evaluate((element) => (element as HTMLImageElement).decode().then(() => element.clientWidth));
    expect(await loadedWidth()).toBeGreaterThan(0);
    expect(await messageOn(page, 2).getByRole("img").count()).toBe(1);
    expect(await messageOn(page, 2).getByText("The answer is empty.").count()).toBe(0);
    expect(await violationsOf(page)).toEqual([]);
    const downloading = page.waitForEvent("download");
    await page.getByRole("link", { name: "Download image-1.gif" }).click();
    expect((await downloading).suggestedFilename()).toBe("image-1.gif");

    await page.reload();
    expect(await loadedWidth()).toBeGreaterThan(0);
    playground.answerWith((request) => answerInStream(request, ["Done"]));
    await sayAndHear(page, "Make it red");
    const { messages } = playground.lastBody() as { messages: readonly object[] };
    expect(messages[1]).toMatchObject({
      role: "assistant",
      images: [{ image_url: { url: PIXEL }, extra_content: { google: { a: 1 } } }],
    });
    expect(complaints).toEqual([]);
  });

  it("is rendered from Markdown, and can neither run code nor load anything from elsewhere", async () => {
    const { page, complaints } = await playground.openPlayground();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    playground.answerWith((request) => answerInStream(request, [MARKDOWN]));
    await sayAndHear(page, "Show me all");
    const message = messageOn(page, 2);
    await message.getByRole("heading", { name: "Title", level: 3 }).waitFor();
    await message.getByRole("cell", { name: "2" }).waitFor();
    const link = message.getByRole("link", { name: "a link" });
    expect(await link.getAttribute("rel")).toContain("noopener");
    expect(await link.getAttribute("target")).toBe("_blank");
    expect(await message.getByRole("link", { name: /a path|run/ }).count()).toBe(0);
    expect(await message.locator("img, script").count()).toBe(0);
    await message.getByText("<script>").waitFor();
    await message.getByRole("link", { name: "Image: spy" }).waitFor();
    expect(await page.title()).not.toContain("taken");
    expect(asked.filter((url) => !url.startsWith(playground.site.service.baseUrl))).toEqual([]);

    await message.getByRole("button", { name: "Copy code" }).click();
    await toastOf(page, "Copied code").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('print("hello")');
    expect(await violationsOf(page)).toEqual([]);
    await message.getByRole("button", { name: "Raw message 2" }).click();
    await message.getByText("**bold**").waitFor();
    expect(complaints).toEqual([]);
  });

  it("keeps the blocks that are complete while it grows", async () => {
    const { page } = await playground.openPlayground();
    const held = playground.heldStream({ content: "# First\n\nSecond" });
    await say(page, "Slowly");
    const heading = messageOn(page, 2).getByRole("heading", { name: "First" });
    await heading.waitFor();
    await heading.evaluate((element) => {
      element.dataset.seen = "before";
    });
    const response = await held;
    response.write(chunkOf({ content: " has grown\n\n- third" }));
    endStream(response);
    await messageOn(page, 2).getByText("Second has grown").waitFor();
    await messageOn(page, 2).getByRole("listitem").getByText("third").waitFor();
    expect(await heading.getAttribute("data-seen")).toBe("before");
  });

  it("is checked against the schema that was requested", async () => {
    const { page } = await playground.openPlayground();
    await page.getByLabel("Output", { exact: true }).selectOption("json_schema");
    await page.getByRole("button", { name: "Edit schema" }).click();
    const field = page.getByRole("dialog").getByLabel("JSON schema");
    await field.fill('{"type": "objekt"}');
    await page.getByRole("dialog").getByText('there is no type "objekt"').waitFor();
    const schema = { type: "object", properties: { age: { type: "integer" } }, required: ["age"] };
    await field.fill(JSON.stringify(schema));
    await page.getByRole("button", { name: "Save schema" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });

    playground.answerWith((request) => answerInStream(request, ['{"age":', "41}"]));
    await sayAndHear(page, "How old?");
    expect(playground.lastBody().response_format).toEqual({
      type: "json_schema",
      json_schema: { name: "answer", schema },
    });
    await messageOn(page, 2).getByText('"age": 41').waitFor();
    await messageOn(page, 2).getByText("Valid: the answer follows the schema.").waitFor();
    playground.answerWith((request) => answerInStream(request, ['{"age": "old"}']));
    await sayAndHear(page, "And now?");
    await messageOn(page, 4)
      .getByRole("listitem")
      .getByText(/^age: /)
      .waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  it("asks a model for the images or the speech that it produces, and plays the speech", async () => {
    const { page, complaints } = await playground.openPlayground("acme/image");
    await sayAndHear(page, "Draw a dot");
    expect(playground.lastBody()).toMatchObject({ modalities: ["text", "image"] });
    expect(playground.lastBody()).not.toHaveProperty("audio");

    await page.goto("/playground?model=acme/audio");
    const samples = Buffer.alloc(24_000).toString("base64");
    playground.answerWith(({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ role: "assistant", content: null, audio: { id: "a", transcript: "Good " } }));
      response.write(chunkOf({ audio: { transcript: "day", data: samples } }));
      response.write(chunkOf({ audio: { data: samples } }));
      endStream(response);
    });
    await sayAndHear(page, "Greet me");
    // The page also has the answer of before it was opened again.
    const asked = { modalities: ["text", "audio"], audio: { voice: "alloy", format: "pcm16" } };
    await expect.poll(() => playground.lastBody()).toMatchObject(asked);
    await messageOn(page, 4).getByText("Good day").waitFor();
    const player = messageOn(page, 4).getByLabel("Speech of the model");
    const seconds = () => player.evaluate((element) => (element as HTMLAudioElement).duration);
    await expect.poll(seconds).toBe(1);
    expect(await violationsOf(page)).toEqual([]);

    await page.reload();
    await expect.poll(seconds).toBe(1);
    await sayAndHear(page, "Again");
    const said = [{}, {}, {}, { role: "assistant", content: "Good day" }, {}];
    await expect.poll(() => playground.lastBody().messages).toMatchObject(said);
    expect(JSON.stringify(playground.lastBody())).not.toContain(samples);
    expect(complaints).toEqual([]);
  });

  it("has the direction of its text, block by block", async () => {
    const { page } = await playground.openPlayground();
    const blocks = ["مرحبا بالعالم", "Hello", "- واحد\n- اثنان", "```js\nlet a;\n```"];
    playground.answerWith((request) => answerInStream(request, [blocks.join("\n\n")]));
    await sayAndHear(page, "مرحبا");
    const directionOf = (part: Locator) => part.evaluate((element) => getComputedStyle(element).direction);
    const answer = messageOn(page, 2);
    expect(await directionOf(messageOn(page, 1).getByText("مرحبا"))).toBe("rtl");
    expect(await directionOf(answer.getByText("مرحبا بالعالم"))).toBe("rtl");
    expect(await directionOf(answer.getByText("Hello"))).toBe("ltr");
    expect(await directionOf(answer.getByRole("listitem").filter({ hasText: "واحد" }))).toBe("rtl");
    expect(await directionOf(answer.getByRole("group", { name: "Code in js" }))).toBe("ltr");
    await composerOf(page).fill("שלום");
    expect(await directionOf(composerOf(page))).toBe("rtl");
  });

  it("calls tools, whose results are entered and sent", async () => {
    const { page } = await playground.openPlayground();
    await page.getByRole("button", { name: "Add a tool" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("no spaces please");
    await dialog.getByText("Enter 1 to 64 letters").waitFor();
    await dialog.getByLabel("Name").fill("get_weather");
    await dialog.getByRole("button", { name: "Add tool" }).click();
    await dialog.waitFor({ state: "detached" });
    const call = {
      index: 0,
      id: "call_1",
      type: "function",
      function: { name: "get_weather", arguments: '{"city":"Paris"}' },
    };
    playground.answerWith(({ response }) => {
      response.setHeader("content-type", "text/event-stream");
      response.write(chunkOf({ tool_calls: [call] }));
      endStream(response);
    });
    await say(page, "Weather?");
    await messageOn(page, 2).getByText('"city": "Paris"').waitFor();
    expect(playground.lastBody().tools).toMatchObject([
      { type: "function", function: { name: "get_weather", parameters: { type: "object" } } },
    ]);
    await composerOf(page).fill("Well?");
    await composerOf(page).press("Enter");
    await page.getByRole("alert").getByText("Enter the result of get_weather first.").waitFor();
    await composerOf(page).fill("");

    playground.answerWith((request) => answerInStream(request, ["It is warm."]));
    await page.getByLabel("Result of get_weather").fill('{"degrees": 21}');
    await page.getByRole("button", { name: "Send result" }).click();
    await messageOn(page, 3).getByText("It is warm.").waitFor();
    await figureOf(messageOn(page, 3), "Cost").filter({ hasText: "$" }).waitFor();
    const { index: _, ...sent } = call;
    expect(playground.lastBody().messages).toEqual([
      { role: "user", content: "Weather?" },
      { role: "assistant", content: null, tool_calls: [sent] },
      { role: "tool", tool_call_id: "call_1", content: '{"degrees": 21}' },
    ]);
    expect(await violationsOf(page)).toEqual([]);
  });

  it("reads images and files that were attached, pasted or dropped", async () => {
    const { page } = await playground.openPlayground();
    const png = Buffer.from(
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      "base64",
    );
    const input = page.locator("input[type=file]");
    await input.setInputFiles([
      { name: "dot.png", mimeType: "image/png", buffer: png },
      { name: "note.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.4") },
    ]);
    await page.getByRole("button", { name: "Remove note.pdf" }).waitFor();
    await input.setInputFiles({ name: "a.exe", mimeType: "application/x-msdownload", buffer: png });
    await page.getByRole("alert").getByText("a.exe is no PNG, JPEG, WebP, GIF or PDF.").waitFor();
    await composerOf(page).evaluate((field, base64) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }, png.toString("base64"));
    await page.getByRole("button", { name: "Remove pasted.png" }).click();
    playground.answerWith((request) => answerInStream(request, ["A dot."]));
    await sayAndHear(page, "What is this?");
    const url = `data:image/png;base64,${png.toString("base64")}`;
    const data = `data:application/pdf;base64,${Buffer.from("%PDF-1.4").toString("base64")}`;
    expect(playground.lastBody().messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "image_url", image_url: { url } },
          { type: "file", file: { filename: "note.pdf", file_data: data } },
        ],
      },
    ]);
    await page.reload();
    await messageOn(page, 1).getByRole("img", { name: "dot.png" }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });
});
