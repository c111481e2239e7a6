import type { APIPromise } from "../core/api-promise.ts";
import { objectOf } from "../core/checks.ts";
import { listIn } from "../core/trpc.ts";

/** A page of lines of an export of actions. */
interface ActionPage {
  readonly lines: readonly string[];
  readonly next: number | null;
}

/** Parameters of an export of actions. */
export interface ActionsExportParams {
  /** The position in the chain after which to begin, such as that of the head of an earlier export. Default 0. */
  readonly after?: number | undefined;
}

/** Lines of all pages. @throws {OstiaryError} the parameters are no object, which JavaScript does not prevent. */
export function actionLines(
  params: ActionsExportParams,
  read: (page: { readonly after: number }) => APIPromise<ActionPage>,
): AsyncGenerator<string, void, undefined> {
  return linesAfter(objectOf("params", params).after ?? 0, read);
}

async function* linesAfter(
  start: number,
  read: (page: { readonly after: number }) => APIPromise<ActionPage>,
): AsyncGenerator<string, void, undefined> {
  for (let after: number | null = start; after !== null; ) {
    const { data }: { readonly data: ActionPage } = await listIn(read({ after }), "lines");
    yield* data.lines;
    after = data.next ?? null;
  }
}
