// Whether the audit log scrolls smoothly with ENTRIES entries (100,000 by default), and what they take of the browser's memory.
import type { CDPSession, Page } from "playwright-core";
import { openBrowser, openPage } from "../fixtures/browser.ts";
import { insertEntries } from "../fixtures/entries.ts";
import { startService } from "../fixtures/service.ts";
import { signUpWithKey } from "../fixtures/user.ts";
import { report } from "./measure.ts";

const ENTRIES = Number(process.env.ENTRIES ?? 100_000);
/** Beyond this a person sees that a frame was late: at 60 frames a second, two of them were due. */
const LONG_FRAME_MS = 33.4;
/** Scrolling with the wheel, by flings and with the scroll bar, in pixels per frame. */
const SPEEDS = [60, 600, 6_000];
const FRAMES = 400;

await using service = await startService();
const owner = await signUpWithKey(service.baseUrl);
await insertEntries(service, owner, ENTRIES);
const browser = await openBrowser();
try {
  const { page } = await openPage(browser, service.baseUrl, { viewport: { width: 1_440, height: 900 } });
  await page.context().addCookies(
    owner
      .cookie()
      .split("; ")
      .map((pair) => {
        const [name = "", value = ""] = pair.split("=");
        return { name, value, url: service.baseUrl };
      }),
  );
  await page.goto("/audit");
  await page.getByRole("grid").waitFor();
  const before = await usedMb(page);

  const begun = performance.now();
  const whileLoading = await framesOf(page, scrollToEnd);
  report(`${ENTRIES} entries loaded by scrolling`, "s", ((performance.now() - begun) / 1_000).toFixed(1));
  tell("frames meanwhile", whileLoading);
  report("what they take of memory", "MB", ((await usedMb(page)) - before).toFixed(0));

  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  for (const speed of SPEEDS) {
    const workedMs = await workOf(session);
    const frames = await framesOf(page, scrollThrough, { speed, count: FRAMES });
    tell(`scrolling by ${speed} px a frame`, frames);
    // CPU time, whatever else the machine runs: the work that has to fit into a frame.
    const eachMs = ((await workOf(session)) - workedMs) / FRAMES;
    report("  work of the page's thread for each", "ms", eachMs.toFixed(1));
  }
} finally {
  await browser.close();
}

/** How long each frame took while something was done on the page, in milliseconds. */
function framesOf<Argument>(
  page: Page,
  work: (argument: Argument) => Promise<number[]>,
  argument?: Argument,
): Promise<number[]> {
  return page.evaluate(work as (argument: unknown) => Promise<number[]>, argument);
}

/** Goes to the end of the list again and again, until there are no more entries to load. Runs in the page. */
async function scrollToEnd(): Promise<number[]> {
  const frame = document.querySelector(".EntryFrame_frame") as HTMLElement;
  const taken: number[] = [];
  let last = await new Promise<number>(requestAnimationFrame);
  while (!/ in all\.|These are the newest/.test(frame.textContent ?? "")) {
    frame.scrollTop = frame.scrollHeight;
    const now = await new Promise<number>(requestAnimationFrame);
    taken.push(now - last);
    last = now;
  }
  return taken;
}

/** Scrolls on in each frame, from the top, and back at the end. Runs in the page. */
async function scrollThrough({ speed, count }: { speed: number; count: number }): Promise<number[]> {
  const frame = document.querySelector(".EntryFrame_frame") as HTMLElement;
  frame.scrollTop = 0;
  for (let rest = 0; rest < 30; rest++) await new Promise(requestAnimationFrame);
  const taken: number[] = [];
  let last = await new Promise<number>(requestAnimationFrame);
  for (let number = 0; number < count; number++) {
    frame.scrollTop = (number * speed) % (frame.scrollHeight - frame.clientHeight);
    const now = await new Promise<number>(requestAnimationFrame);
    taken.push(now - last);
    last = now;
  }
  return taken;
}

function tell(what: string, frames: readonly number[]): void {
  const sorted = [...frames].sort((one, other) => one - other);
  const at = (share: number) => (sorted[Math.round((sorted.length - 1) * share)] ?? Number.NaN).toFixed(1);
  const seconds = frames.reduce((sum, ms) => sum + ms, 0) / 1_000;
  const long = frames.filter((ms) => ms > LONG_FRAME_MS).length;
  report(
    what,
    "ms",
    `median ${at(0.5)}  p99 ${at(0.99)}  max ${at(1)}  ${(frames.length / seconds).toFixed(0)} frames/s  ${long} of ${frames.length} long`,
  );
}

/** What the page's thread has done so far, in milliseconds of the processor. */
async function workOf(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1_000;
}

async function usedMb(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize / 1024 / 1024;
}
