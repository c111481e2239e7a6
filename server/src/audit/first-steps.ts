import type { AccountId } from "../contract/account.ts";
import type { Database } from "../database/database.ts";
import type { Reader, Reads } from "../database/reads.ts";
import type { Recorder } from "./recorder.ts";

/** What an account has done so far of what a new account does first. */
interface FirstSteps {
  /** Whether it has had a key. */
  readonly hasKey: boolean;
  /** Whether one of its latest 1,000 requests came from a client, not from the playground. */
  readonly hasRequest: boolean;
  /** Whether one of its latest 1,000 requests was answered by a model that is not simulated. */
  readonly hasRealModel: boolean;
  /** Whether it has had a second key that is not the successor of another. */
  readonly hasSecondKey: boolean;
  /** Whether it has rotated a key. */
  readonly hasRotation: boolean;
}

/** Reads an account's first steps. Work is bounded: only the latest requests are looked at. */
export class FirstStepsReader {
  readonly #database: Database;
  readonly #recorder: Recorder;
  readonly #reads: Reads;

  constructor(database: Database, recorder: Recorder, reads: Reads) {
    this.#database = database;
    this.#recorder = recorder;
    this.#reads = reads;
  }

  /**
   * @param simulated The upstreams whose models are simulated.
   * @throws {Failure} as {@link Reads.whole}.
   */
  async read(accountId: AccountId, simulated: readonly string[], reader: Reader): Promise<FirstSteps> {
    const sql = this.#database;
    await this.#recorder.tryFlush(accountId);
    // Uses keys_key_id_unique and audit_entries_by_account, by account.
    const [row] = await this.#reads.inOneSlice(
      reader,
      () => sql<FirstSteps[]>`
        with latest as (
          select endpoint, upstream, status from audit_entries
          where account_id = ${accountId}
          order by id desc
          limit 1000
        )
        select
          exists (select 1 from keys where account_id = ${accountId}) as "hasKey",
          exists (select 1 from latest where endpoint like '% /v1/%') as "hasRequest",
          exists (
            select 1 from latest where status = 200 and upstream not in (select json_array_elements_text(${JSON.stringify(simulated)}::text::json))
          ) as "hasRealModel",
          exists (
            select 1 from keys where account_id = ${accountId} and replaces is null offset 1
          ) as "hasSecondKey",
          exists (
            select 1 from keys where account_id = ${accountId} and replaces is not null
          ) as "hasRotation"`,
    );
    if (row === undefined) throw new Error("a query without a table returned no row");
    return row;
  }
}
