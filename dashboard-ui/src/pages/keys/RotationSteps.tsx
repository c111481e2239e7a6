import type { ReactNode } from "react";
import type { KeyUse } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { classes } from "../../components/classes.ts";
import { formatSpan } from "../../components/format.ts";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import { LatestRequests } from "./LatestRequests.tsx";
import styles from "./RotationSteps.module.css";
import { currentStep, ROTATION_STEPS, type RotationStep } from "./rotation-progress.ts";
import { UpdateDeployments } from "./UpdateDeployments.tsx";
import { WatchTraffic } from "./WatchTraffic.tsx";

const TITLES: Readonly<Record<RotationStep, string>> = {
  create: "Create a new key",
  update: "Update your deployments",
  watch: "Watch the old key's traffic fall to zero",
  revoke: "Revoke the old key",
};

interface RotationStepsProps {
  readonly old: KeyUse;
  /** Undefined until the successor is created and loaded. */
  readonly successor: KeyUse | undefined;
  readonly rotate: () => void;
  readonly revoke: () => void;
}

/** The steps of a rotation with their instructions and state. */
export function RotationSteps({ old, successor, rotate, revoke }: RotationStepsProps) {
  const now = currentStep(old, successor);
  // The key was revoked without a successor.
  if (now === "done" && old.rotation === null) {
    return (
      <section className={panelStyles.panel} aria-labelledby="revoked">
        <h2 id="revoked">“{old.name}” is revoked</h2>
        <p>Requests with it return 401.</p>
        <Revoke old={old} revoke={revoke} />
      </section>
    );
  }
  const place = now === "done" ? ROTATION_STEPS.length : ROTATION_STEPS.indexOf(now);
  const contents: Readonly<Record<RotationStep, ReactNode>> = {
    create: <Create old={old} successor={successor} rotate={rotate} />,
    update:
      successor === undefined || now === "done" ? null : (
        <UpdateDeployments oldName={old.name} successorName={successor.name} />
      ),
    watch:
      successor === undefined || old.rotation === null || now === "done" ? null : (
        // Each successor has a history of its own.
        <WatchTraffic key={successor.id} old={old} successor={successor} rotation={old.rotation} />
      ),
    revoke: <Revoke old={old} revoke={revoke} />,
  };
  return (
    <>
      <p role="status" className={styles.rotationNow}>
        {now === "done"
          ? `“${old.name}” is revoked. Requests with it return 401.`
          : `Step ${place + 1} of ${ROTATION_STEPS.length}: ${TITLES[now]}`}
      </p>
      <ol className={styles.rotationSteps}>
        {ROTATION_STEPS.map((step, index) => {
          const state = stateOf(step, now, index - place);
          return (
            <li
              key={step}
              className={classes(panelStyles.panel, styles.rotationStep)}
              data-state={state}
              aria-current={state === "now" ? "step" : undefined}
            >
              <span className={styles.rotationStepNumber} aria-hidden="true">
                {state === "done" ? "✓" : index + 1}
              </span>
              <h2>
                {TITLES[step]}
                {state === "done" ? <span className={textStyles.visuallyHidden}> (done)</span> : null}
              </h2>
              {contents[step] === null ? null : (
                <div className={styles.rotationStepBody}>{contents[step]}</div>
              )}
            </li>
          );
        })}
      </ol>
    </>
  );
}

/** `distance` is the number of steps from the current one. Updating continues until the old key has no traffic. */
function stateOf(step: RotationStep, now: RotationStep | "done", distance: number) {
  if (distance === 0) return "now";
  if (step === "update" && now === "watch") return "going-on";
  return distance < 0 ? "done" : "later";
}

function Create({ old, successor, rotate }: Omit<RotationStepsProps, "revoke">) {
  if (old.rotation !== null) {
    return (
      <p>
        {successor === undefined ? (
          "Another key replaces this one."
        ) : (
          <>
            “{successor.name}” <code>…{successor.keyId}</code> replaces <code>…{old.keyId}</code>. If you lost
            the new key, revoke it in the list of keys and create another one here.
          </>
        )}
      </p>
    );
  }
  if (old.state === "revoked") return null;
  return (
    <>
      <p>
        The new key replaces <code>…{old.keyId}</code>. Both keys work until you revoke the old one. Until
        then the new key may exceed the plan's number of active keys.
      </p>
      <div>
        <Button look="primary" onClick={rotate}>
          Create the new key
        </Button>
      </div>
    </>
  );
}

function Revoke({ old, revoke }: Pick<RotationStepsProps, "old" | "revoke">) {
  if (old.state === "revoked") {
    return (
      <LatestRequests
        keyId={old.id}
        errorCode="revoked_api_key"
        title="Requests with the revoked key"
        none="No requests since it was revoked."
      />
    );
  }
  if (old.rotation === null) return null;
  const { isIdle, idleAfterSeconds } = old.rotation;
  return (
    <>
      <p>
        {isIdle
          ? `Unused for ${formatSpan(idleAfterSeconds)}. You can revoke it now. `
          : `Wait until the key has been unused for ${formatSpan(idleAfterSeconds)}. `}
        Once it is revoked, requests with it return 401. This can't be undone.
      </p>
      <div>
        <Button look={isIdle ? "danger" : "plain"} onClick={revoke}>
          Revoke {old.name}
        </Button>
      </div>
    </>
  );
}
