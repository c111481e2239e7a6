/** A page of lines of an export of actions. */
interface ActionPage {
  readonly lines: readonly string[];
  readonly next: number | null;
}

/** Lines of all pages after a position. */
export async function* actionLines(
  read: (after: number) => Promise<ActionPage>,
  start: number,
): AsyncGenerator<string, void, undefined> {
  for (let after: number | null = start; after !== null; ) {
    const { lines, next }: ActionPage = await read(after);
    yield* lines;
    after = next ?? null;
  }
}

/** Parameters of an export of actions. */
export interface ActionsExportParams {
  /** The position in the chain after which to begin, such as that of the head of an earlier export. Default 0. */
  readonly after?: number | undefined;
}
