import { objectOf } from "../core/checks.ts";
import { UnverifiableExportError } from "../core/errors.ts";
import { parsedJson } from "../core/fields.ts";
import { linkDigest, sha256OfText } from "./digest.ts";
import { hasRepeatedName } from "./repeated-names.ts";
import { checkPoints, eachLine, MAX_UNREADABLE_START } from "./verification-input.ts";

/** A point in a chain of actions. Keep it to verify later that nothing before it was modified. */
export interface ActionPoint {
  /** From 1. */
  readonly position: number;
  /** SHA-256, in hexadecimal. */
  readonly digest: string;
}

/** A problem of an export of actions. */
export interface ActionsProblem {
  /**
   * - `changed`: the action is not what was recorded.
   * - `missing`: actions before this one are missing.
   * - `out_of_order`: a line is repeated or precedes an earlier one.
   * - `unreadable`: a line is not an action with its position in the chain.
   * - `digest_differs`: the chain differs from the expected point.
   */
  readonly problem: "changed" | "missing" | "out_of_order" | "unreadable" | "digest_differs";
  /** `null` if the line is unreadable. */
  readonly position: number | null;
  /** From 1; `null` if the problem has no particular line. */
  readonly line: number | null;
}

/** The outcome of {@link verifyActionsExport}. */
export interface ActionsVerification {
  /** Whether the export is unmodified, and complete from `first` to `head`. One without actions is too, and proves nothing. */
  readonly ok: boolean;
  /** The number of actions in the export. */
  readonly actions: number;
  /** The position of the first action. */
  readonly first: number | null;
  /** The end of the chain. Keep it: a later export must contain it. */
  readonly head: ActionPoint | null;
  /** The first 100 problems. */
  readonly problems: readonly ActionsProblem[];
}

/** Facts about an export of actions that are not in it. */
export interface VerifyActionsOptions {
  /**
   * A point that was kept earlier. The export must contain it, or begin after it. Without one, a recomputed chain cannot be detected,
   * and an export must begin with the first action.
   */
  readonly expected?: ActionPoint | undefined;
}

const MAX_PROBLEMS = 100;
/** What stands once in a line. With more of them {@link LINE} would take the square of the length of a forged one. */
const ABOUT = '},"about":{';
/** The digest covers the text of the action as it stands in the line. */
const LINE =
  /^\{"action":(\{.*\}),"about":\{.*\},"chain":\{"position":([1-9]\d{0,14}),"digest":"([0-9a-f]{64})"\}\}$/;

/**
 * Verifies an export of the audit trail (NDJSON) without the service: that no action was changed, removed, added or moved since it was
 * recorded. Names and e-mail addresses (`about`) are not covered.
 *
 * @param lines the export's lines, without line breaks. Empty lines are skipped.
 * @throws {UnverifiableExportError} the lines are no export of actions.
 * @throws {OstiaryError} an option is not valid.
 */
export async function verifyActionsExport(
  lines: AsyncIterable<string> | Iterable<string>,
  options: VerifyActionsOptions = {},
): Promise<ActionsVerification> {
  const { expected } = objectOf("options", options);
  if (expected != null) checkPoints([expected], "position");
  const check = new ActionsCheck(expected ?? null);
  return check.end(await eachLine(lines, (text, line) => check.add(text, line)));
}

class ActionsCheck {
  readonly #expected: ActionPoint | null;
  readonly #problems: ActionsProblem[] = [];
  #actions = 0;
  #first: number | null = null;
  #head: ActionPoint | null = null;
  #expectedSeen = false;

  constructor(expected: ActionPoint | null) {
    this.#expected = expected;
  }

  async add(text: string, line: number): Promise<void> {
    const [, action = "", position = "", digest = ""] = partsOf(text);
    if (action === "") {
      if (this.#actions === 0 && line > MAX_UNREADABLE_START) throw notAnExport();
      return this.#note("unreadable", null, line);
    }
    this.#actions++;
    await this.#addAction(action, { position: Number(position), digest }, line);
  }

  end(lines: number): ActionsVerification {
    if (this.#actions === 0 && lines > 0) throw notAnExport();
    if (this.#expected !== null && !this.#expectedSeen) {
      this.#note("digest_differs", this.#expected.position, null);
    }
    return {
      ok: this.#problems.length === 0,
      actions: this.#actions,
      first: this.#first,
      head: this.#head,
      problems: this.#problems,
    };
  }

  async #addAction(action: string, point: ActionPoint, line: number): Promise<void> {
    const { position, digest } = point;
    const previous = this.#head ?? this.#before(position);
    this.#first ??= position;
    if (position <= previous.position) return this.#note("out_of_order", position, line);
    if (position > previous.position + 1) this.#note("missing", position, line);
    else if ((await linkDigest(previous.digest, await sha256OfText(action))) !== digest) {
      this.#note("changed", position, line);
    }
    this.#head = point;
    if (this.#expected?.position === position && this.#expected.digest === digest) this.#expectedSeen = true;
  }

  /** The point before the first action of the export: the expected one, or the beginning. */
  #before(position: number): ActionPoint {
    if (this.#expected === null || this.#expected.position !== position - 1)
      return { position: 0, digest: "" };
    this.#expectedSeen = true;
    return this.#expected;
  }

  #note(problem: ActionsProblem["problem"], position: number | null, line: number | null): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ problem, position, line });
  }
}

/** What {@link LINE} finds in a line; nothing in one that is no line of an export. */
function partsOf(text: string): readonly string[] {
  const line = parsedJson(text);
  if (line === undefined || text.split(ABOUT).length > 2 || hasRepeatedName(text, line)) return [];
  return LINE.exec(text) ?? [];
}

function notAnExport(): UnverifiableExportError {
  return new UnverifiableExportError("it is not an export of the audit trail in NDJSON.");
}
