import uPlot from "uplot";
import { topOf } from "./value-ticks.ts";

interface PlotSeries {
  readonly values: readonly (number | null)[];
  /** A colour that a canvas understands. */
  readonly colour: string;
}

interface PlotOptions {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly kind: "stacked-bars" | "line";
  readonly series: readonly PlotSeries[];
  /** The number of intervals. */
  readonly intervals: number;
  /** The values of the horizontal lines. The last is the end of the scale. */
  readonly ticks: readonly number[];
  readonly gridColour: string;
}

const LINE_PX = 2;
/** The space beyond the plot that keeps lines at its top and bottom edge from being clipped. */
const BLEED_PX = 4;
const BAR_SHARE = 0.72;
const MAX_BAR_PX = 44;
/** The gap between the parts of a bar, so that neighbours differ by more than colour. */
const PART_GAP_PX = 1;
/** The minimum height of a part: a single error among thousands of requests must be visible. */
const MIN_PART_PX = 2;

/** Draws the plot into the element, edge to edge. Labels are not part of it. */
export function plotInto(element: HTMLElement, options: PlotOptions): uPlot {
  const { widthPx, heightPx, kind, series, intervals, ticks, gridColour } = options;
  const nothing = { show: false };
  const indices = Array.from({ length: intervals }, (_, index) => index);
  const values = series.map((one) => [...one.values]);
  const plot = new uPlot(
    {
      width: widthPx,
      height: heightPx + 2 * BLEED_PX,
      padding: [BLEED_PX, 0, BLEED_PX, 0],
      legend: nothing,
      cursor: nothing,
      scales: {
        x: { time: false, range: [-0.5, intervals - 0.5] },
        y: { range: [0, topOf(ticks)] },
      },
      axes: [
        nothing,
        {
          size: 0,
          gap: 0,
          splits: [...ticks],
          values: () => [],
          ticks: nothing,
          grid: { stroke: gridColour, width: 1 },
        },
      ],
      series: [
        {},
        ...series.map(({ colour, values }) =>
          kind === "line"
            ? {
                stroke: colour,
                width: LINE_PX,
                points: {
                  fill: colour,
                  size: 6,
                  // Where points are too close to show all, a line of one point would be invisible.
                  filter: (_: uPlot, __: number, isShown: boolean) => (isShown ? null : lonely(values)),
                },
              }
            : { paths: () => null, points: nothing },
        ),
      ],
      hooks: kind === "line" ? {} : { draw: [(plot) => drawBars(plot, options)] },
    },
    [indices, ...values],
    element,
  );
  plot.root.style.marginBlock = `${-BLEED_PX}px`;
  return plot;
}

/** The indices of values without a value beside them. */
function lonely(values: readonly (number | null)[]): number[] {
  const has = (index: number) => (values[index] ?? null) !== null;
  return values.flatMap((_, index) => (has(index) && !has(index - 1) && !has(index + 1) ? [index] : []));
}

function drawBars({ ctx, bbox }: uPlot, { series, intervals, ticks }: PlotOptions): void {
  const pixel = devicePixelRatio;
  const column = bbox.width / intervals;
  const width = Math.max(pixel, Math.min(Math.floor(column * BAR_SHARE), MAX_BAR_PX * pixel));
  const scale = bbox.height / (ticks.at(-1) ?? 1);
  ctx.save();
  for (let index = 0; index < intervals; index++) {
    const left = Math.round(bbox.left + (index + 0.5) * column - width / 2);
    const floor = bbox.top + bbox.height;
    let bottom = floor;
    for (const { values, colour } of series) {
      const value = values[index] ?? 0;
      if (value <= 0) continue;
      const top = bottom - Math.max(value * scale, MIN_PART_PX * pixel);
      const height = Math.round(bottom) - Math.round(top);
      const isThin = height <= (MIN_PART_PX + PART_GAP_PX) * pixel;
      ctx.fillStyle = colour;
      ctx.fillRect(
        left,
        Math.round(top),
        width,
        bottom === floor || isThin ? height : height - PART_GAP_PX * pixel,
      );
      bottom = top;
    }
  }
  ctx.restore();
}
