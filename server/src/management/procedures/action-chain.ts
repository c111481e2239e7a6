import * as z from "zod";
import type { ActionChain, ActionChainReport, ActionLines } from "../../accounts/action-chain.ts";
import type { AccountId } from "../../contract/account.ts";
import type { Reader, Reads } from "../../database/reads.ts";
import { chainPosition, sha256Digest } from "./inputs.ts";

/** The maximum number of lines that are read at a time. */
export const MAX_LINES = 1_000;

/** The position in the chain after which to begin. */
export const afterPosition = chainPosition.default(0).describe("The position after which to begin.");

/** Fields of the input of an export. */
export const exportInput = {
  /** The position in the chain after which to begin: the `next` of the previous part. Default 0: at the beginning. */
  after: afterPosition,
  /** The maximum number of lines, 1 to 1,000. Default 1,000. */
  limit: z.number().int().min(1).max(MAX_LINES).default(MAX_LINES),
};

/** Fields of the input of a verification. */
export const verificationInput = {
  /** The position in the chain after which to begin: the `next` of the previous part. Default 0: at the beginning. */
  after: afterPosition,
  /** A point that was kept earlier, which the chain must contain. */
  expected: z
    .strictObject({
      /** Its position in the chain, from 1. */
      position: chainPosition.min(1),
      /** Its digest: SHA-256, in hexadecimal. */
      digest: sha256Digest,
    })
    .optional(),
};

type ExportInput = z.output<z.ZodObject<typeof exportInput>>;
type VerificationInput = z.output<z.ZodObject<typeof verificationInput>>;

/** The chains of actions as procedures read them, with the budget of the reader. */
export function actionChainReads(chain: ActionChain, reads: Reads) {
  return {
    /** Lines of an export: of an account, or of the whole trail (`null`). */
    lines: (
      reader: Reader,
      accountId: AccountId | null,
      { after, limit }: ExportInput,
    ): Promise<ActionLines> => reads.inOneSlice(reader, () => chain.readLines(accountId, after, limit)),
    /** Verifies some thousand actions. */
    verify: (
      reader: Reader,
      accountId: AccountId | null,
      { after, expected }: VerificationInput,
    ): Promise<ActionChainReport> =>
      reads.inOneSlice(reader, () => chain.verify(accountId, after, expected ?? null)),
  };
}
