import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api } from "../../api/client.ts";
import { errorCodeOf } from "../../api/errors.ts";
import type { AuditEntry } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { Fact } from "../../components/Fact.tsx";
import { formatCount, formatDuration, formatUsd } from "../../components/format.ts";
import textStyles from "../../components/text.module.css";
import styles from "./AnswerFigures.module.css";
import type { GeneratedAnswer } from "./chat-state.ts";

/** The delay before a cancelled answer is looked up, because its entry is recorded later. */
const SETTLED_AFTER_MS = 1_000;
const MAX_ATTEMPTS = 6;
/** The age from which an entry that is not in the log has been deleted from it. */
const DELETED_FROM_MS = 86_400_000;
/** The minimum duration for which a speed is shown. */
const MIN_MS = 20;

const rate = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });

/** The duration, tokens and cost of an answer, from the audit log. */
export function AnswerFigures({ generated }: { readonly generated: GeneratedAnswer }) {
  const { requestId, firstMs, totalMs } = generated;
  const isDue = useDelay(generated.outcome === "whole" ? 0 : SETTLED_AFTER_MS);
  const entry = useQuery(
    api.audit.get.queryOptions(
      { requestId: requestId ?? "" },
      {
        enabled: requestId !== null && isDue,
        staleTime: Number.POSITIVE_INFINITY,
        retry: (failures, error) => {
          const code = errorCodeOf(error);
          return failures < MAX_ATTEMPTS && (code === null || (code === "not_found" && !isOld(requestId)));
        },
      },
    ),
  );
  if (requestId === null) return null;
  const isDeleted = errorCodeOf(entry.error) === "not_found" && isOld(requestId);
  const tokens = tokensOf(generated, entry.data);
  const speed = speedOf(generated, tokens?.completion ?? null);
  return (
    <dl className={styles.answerFigures}>
      {firstMs === null ? null : <Fact name="Time to first token">{formatDuration(firstMs)}</Fact>}
      {totalMs === null ? null : <Fact name="Total time">{formatDuration(totalMs)}</Fact>}
      {speed === null ? null : <Fact name="Speed">{rate.format(speed)} tokens/s</Fact>}
      {tokens === null ? null : (
        <Fact name="Tokens">
          {formatCount(tokens.prompt)} in, {formatCount(tokens.completion)} out
          {tokens.isEstimated ? <span className={textStyles.quiet}> estimated</span> : null}
        </Fact>
      )}
      <Fact name="Cost">
        {entry.data !== undefined ? (
          formatUsd(entry.data.costNanoUsd)
        ) : isDeleted ? (
          <span className={textStyles.quiet}>no longer in the request log</span>
        ) : entry.isError ? (
          <Button busy={entry.isFetching} onClick={() => void entry.refetch()}>
            Try again
          </Button>
        ) : (
          <span className={textStyles.quiet}>…</span>
        )}
      </Fact>
      {isDeleted ? null : (
        <Fact name="Request log">
          <Link to="/audit" search={{ entry: requestId }}>
            Entry
            <span className={textStyles.visuallyHidden}> of {requestId}</span>
          </Link>
        </Fact>
      )}
    </dl>
  );
}

/** Whether a request was made long ago. Its id begins with the time. */
function isOld(requestId: string | null): boolean {
  const atMs = Number.parseInt(requestId?.slice("req_".length, "req_".length + 12) ?? "", 16);
  return Date.now() - atMs > DELETED_FROM_MS;
}

interface Tokens {
  readonly prompt: number;
  readonly completion: number;
  readonly isEstimated: boolean;
}

/** The charged tokens, or the model server's counts until these are known. */
function tokensOf({ answer: { usage } }: GeneratedAnswer, entry: AuditEntry | undefined): Tokens | null {
  if (entry?.promptTokens != null && entry.completionTokens !== null) {
    return {
      prompt: entry.promptTokens,
      completion: entry.completionTokens,
      isEstimated: entry.usageSource === "estimated",
    };
  }
  if (usage === null) return null;
  return { prompt: usage.promptTokens, completion: usage.completionTokens, isEstimated: false };
}

/** Tokens per second, from the first token. */
function speedOf({ firstMs, totalMs }: GeneratedAnswer, completionTokens: number | null): number | null {
  if (totalMs === null || completionTokens === null || completionTokens === 0) return null;
  const takenMs = totalMs - (firstMs ?? 0);
  return takenMs < MIN_MS ? null : (completionTokens * 1_000) / takenMs;
}

/** True after the given delay. */
function useDelay(milliseconds: number): boolean {
  const [isOver, setOver] = useState(milliseconds === 0);
  useEffect(() => {
    const timer = setTimeout(() => setOver(true), milliseconds);
    return () => clearTimeout(timer);
  }, [milliseconds]);
  return isOver;
}
