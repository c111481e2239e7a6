import { Dialog as Base } from "@base-ui/react/dialog";
import { Link } from "@tanstack/react-router";
import { useRef } from "react";
import type { AuditEntry } from "../../api/types.ts";
import { Badge } from "../../components/Badge.tsx";
import buttonStyles from "../../components/Button.module.css";
import { CopyButton } from "../../components/CopyButton.tsx";
import { classes } from "../../components/classes.ts";
import dialogStyles from "../../components/Dialog.module.css";
import { Fact } from "../../components/Fact.tsx";
import { formatCount, formatDuration, formatExactTime, formatUsd } from "../../components/format.ts";
import listsStyles from "../../components/lists.module.css";
import { LoadError, Loading } from "../../components/Notice.tsx";
import pageHeadStyles from "../../components/PageHead.module.css";
import textStyles from "../../components/text.module.css";
import styles from "./EntryDetails.module.css";
import { KeyOfEntry, ModelOfEntry } from "./EntryLinks.tsx";
import { ErrorHelp } from "./ErrorHelp.tsx";
import { endLabel, entryJson, tokenSourceLabel, wentWell } from "./entry-labels.ts";
import type { OpenEntry } from "./use-open-entry.ts";

interface EntryDetailsProps {
  readonly opened: OpenEntry;
  /** Opens the entry above or below in the list; `null` at the end of the list. */
  readonly goNewer: (() => void) | null;
  readonly goOlder: (() => void) | null;
  /** Returns the element to focus after closing. */
  readonly finalFocus: () => HTMLElement | null;
  readonly onClose: () => void;
}

/** The details of one request, beside the list. */
export function EntryDetails({ opened, goNewer, goOlder, finalFocus, onClose }: EntryDetailsProps) {
  const { entry, error, isFetching, retry } = opened;
  const closing = useRef<HTMLButtonElement>(null);
  return (
    <Base.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      <Base.Portal>
        <Base.Backdrop className={dialogStyles.backdrop} />
        <Base.Popup
          className={styles.sheet}
          initialFocus={closing}
          finalFocus={finalFocus}
          onKeyDown={(event) => {
            // With another key they select text, or lead back to the page before.
            if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
            if (event.key === "ArrowLeft") goNewer?.();
            if (event.key === "ArrowRight") goOlder?.();
          }}
        >
          <div className={styles.sheetHead}>
            <Base.Title>Request</Base.Title>
            <div className={pageHeadStyles.pageActions}>
              <Step label="Newer entry" go={goNewer}>
                ‹
              </Step>
              <Step label="Older entry" go={goOlder}>
                ›
              </Step>
              <Base.Close ref={closing} className={buttonStyles.button}>
                Close
              </Base.Close>
            </div>
          </div>
          <p className={textStyles.visuallyHidden} role="status">
            {entry === undefined
              ? ""
              : `${entry.status}, ${entry.model ?? entry.endpoint}, ${formatExactTime(entry.timestamp)}`}
          </p>
          {entry !== undefined ? (
            <Facts entry={entry} />
          ) : error === null ? (
            <Loading what="the entry" />
          ) : (
            <LoadError error={error} busy={isFetching} retry={retry} />
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface StepProps {
  readonly label: string;
  readonly go: (() => void) | null;
  readonly children: string;
}

function Step({ label, go, children }: StepProps) {
  return (
    <button
      type="button"
      className={classes(buttonStyles.button, styles.step)}
      aria-label={label}
      title={label}
      // The `disabled` attribute would take the focus away.
      aria-disabled={go === null}
      onClick={() => go?.()}
    >
      <span aria-hidden="true">{children}</span>
    </button>
  );
}

/** What is known of a request. What does not apply to it, such as the tokens of a request that was refused, is left out. */
function Facts({ entry }: { readonly entry: AuditEntry }) {
  const { errorCode, wouldRefuse, timeToFirstTokenMs } = entry;
  return (
    <>
      <div className={styles.sheetLead}>
        <Badge tone={wentWell(entry) ? "good" : "bad"}>{entry.status}</Badge>
        {errorCode === null ? null : <code>{errorCode}</code>}
        <span>{endLabel(entry)}</span>
      </div>
      {errorCode === null ? null : <ErrorHelp code={errorCode} isOperator={entry.account !== undefined} />}
      {wouldRefuse === null ? null : (
        <p className={styles.sheetWarning}>
          A report-only rule would have refused this request: <code>{wouldRefuse}</code>.
        </p>
      )}
      <dl className={listsStyles.facts}>
        <Fact name="Request ID">
          <code>{entry.requestId}</code>
        </Fact>
        <Fact name="Time">
          {formatExactTime(entry.timestamp)}
          <br />
          <time className={textStyles.small} dateTime={entry.timestamp.toISOString()}>
            {entry.timestamp.toISOString()}
          </time>
        </Fact>
        {entry.account === undefined ? null : (
          <Fact name="Account">
            <Link to="/operator/accounts/$accountId" params={{ accountId: entry.account.id }}>
              <bdi>{entry.account.name}</bdi>
            </Link>
          </Fact>
        )}
        <Fact name="Key">
          <KeyOfEntry entry={entry} /> <code className={textStyles.small}>…{entry.keyId}</code>
        </Fact>
        <Fact name="Source IP">
          <code>{entry.sourceIp ?? "unknown"}</code>
        </Fact>
        <Fact name="Endpoint">{entry.endpoint}</Fact>
        {entry.model === null ? null : (
          <Fact name="Model">
            <ModelOfEntry entry={entry} model={entry.model} />
          </Fact>
        )}
        {entry.upstream === null ? null : <Fact name="Upstream">{entry.upstream}</Fact>}
      </dl>
      {entry.usageSource === "none" ? null : <Tokens entry={entry} />}
      <h3>Cost and timing</h3>
      <dl className={listsStyles.facts}>
        <Fact name="Cost">{formatUsd(entry.costNanoUsd)}</Fact>
        <Fact name="Latency">{formatDuration(entry.latencyMs)}</Fact>
        {timeToFirstTokenMs === null ? null : (
          <Fact name="Time to first token">{formatDuration(timeToFirstTokenMs)}</Fact>
        )}
      </dl>
      <div className={pageHeadStyles.pageActions}>
        <CopyButton text={entry.requestId} what="request ID" />
        <CopyButton text={entryJson(entry)} what="as JSON" />
      </div>
    </>
  );
}

function Tokens({ entry }: { readonly entry: AuditEntry }) {
  const count = (tokens: number | null) => (tokens === null ? "unknown" : formatCount(tokens));
  return (
    <>
      <h3>Tokens</h3>
      <dl className={listsStyles.facts}>
        <Fact name="Prompt tokens">{count(entry.promptTokens)}</Fact>
        <Fact name="Cached">{count(entry.cachedTokens)}</Fact>
        <Part name="Written to cache" tokens={entry.cacheWriteTokens} />
        <Part name="Written to cache for 1 h" tokens={entry.cacheWrite1hTokens} />
        <Fact name="Completion tokens">{count(entry.completionTokens)}</Fact>
        <Part name="Reasoning" tokens={entry.reasoningTokens} />
        <Part name="Audio" tokens={entry.audioTokens} />
        <Part name="Images" tokens={entry.imageTokens} />
        <Fact name="Token count">{count(entry.tokenCount)}</Fact>
        <Fact name="Token source">{tokenSourceLabel(entry)}</Fact>
      </dl>
    </>
  );
}

/** A part of the tokens, which few requests have. */
function Part({ name, tokens }: { readonly name: string; readonly tokens: number | null }) {
  return tokens === null || tokens === 0 ? null : <Fact name={name}>{formatCount(tokens)}</Fact>;
}
