import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api } from "../../api/client.ts";
import type { FirstSteps } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { classes } from "../../components/classes.ts";
import panelStyles from "../../components/Panel.module.css";
import type { PageLink } from "../../components/pages.ts";
import { browserStore } from "../../components/storage.ts";
import textStyles from "../../components/text.module.css";
import styles from "./Checklist.module.css";

interface Step {
  readonly step: keyof FirstSteps;
  readonly title: string;
  readonly hint: string;
  readonly to: PageLink["to"];
}

/** The hints fit in a line in windows of 1,280 pixels and more, so that the steps are as high as their place, whichever of them are left out. */
const STEPS: readonly Step[] = [
  { step: "hasKey", title: "Create a key", hint: "For every model.", to: "/settings/keys" },
  { step: "hasRequest", title: "Call from your code", hint: "Six clients to paste.", to: "/connect" },
  { step: "hasRealModel", title: "Use a real model", hint: "From the catalog.", to: "/models" },
  { step: "hasSecondKey", title: "Add a second key", hint: "One per deployment.", to: "/settings/keys" },
  { step: "hasRotation", title: "Rotate a key", hint: "Without downtime.", to: "/settings/keys" },
];

/** The first steps of an account, until all are done or the user dismisses them in this browser. */
export function Checklist() {
  const me = useQuery(api.auth.me.queryOptions());
  const steps = useQuery(api.account.firstSteps.queryOptions(undefined, { refetchOnMount: "always" }));
  const models = useQuery(
    api.models.list.queryOptions(undefined, { enabled: steps.data?.hasRealModel === false }),
  );
  const [isDismissed, setDismissed] = useState(false);
  const isSimulated = models.data?.models.every(({ sandbox }) => sandbox) === true;
  // A step that the catalog does not allow would never be done.
  const possible = STEPS.filter(({ step }) => step !== "hasRealModel" || steps.data?.[step] || !isSimulated);
  const done = possible.filter(({ step }) => steps.data?.[step]).length;
  const isDone = steps.data !== undefined && !models.isLoading && done === possible.length;
  const name = `checklist dismissed ${me.data?.user.id}`;
  useEffect(() => {
    // No place is kept for it any more.
    if (isDone) browserStore.write(name, "1");
  }, [isDone, name]);
  if (me.data == null || isDone || isDismissed || browserStore.read(name) !== null) return null;
  if (steps.isLoading || models.isLoading) return <Place />;
  if (steps.data === undefined) return null;
  const dismiss = () => {
    browserStore.write(name, "1");
    setDismissed(true);
    document.getElementById("main")?.focus();
  };
  return (
    <section className={panelStyles.panel} aria-labelledby="checklist">
      <div className={panelStyles.panelHead}>
        <h2 id="checklist">
          Get started{" "}
          <span className={textStyles.quiet}>
            {done} of {possible.length}
          </span>
        </h2>
        <Button onClick={dismiss}>Dismiss</Button>
      </div>
      <ol className={styles.steps}>
        {possible.map((step) => (
          <ChecklistStep key={step.step} {...step} isDone={steps.data[step.step]} />
        ))}
      </ol>
    </section>
  );
}

/** The place of the steps while they are loaded, so that nothing moves when they appear. */
function Place() {
  return (
    <section className={classes(panelStyles.panel, styles.place)} aria-hidden="true">
      <div className={panelStyles.panelHead}>
        <h2>Get started</h2>
        <Button>Dismiss</Button>
      </div>
      <ol className={styles.steps}>
        {STEPS.map((step) => (
          <ChecklistStep key={step.step} {...step} isDone={false} />
        ))}
      </ol>
    </section>
  );
}

function ChecklistStep({ title, hint, to, isDone }: Step & { readonly isDone: boolean }) {
  return (
    <li className={isDone ? styles.done : undefined}>
      <svg viewBox="0 0 20 20" role="img" aria-label={isDone ? "Done:" : "To do:"}>
        <circle cx="10" cy="10" r="8.5" />
        {isDone ? <path d="m6 10.5 2.75 2.75L14 7.5" /> : null}
      </svg>
      <Link to={to}>{title}</Link>
      <span className={textStyles.small}>{hint}</span>
    </li>
  );
}
