import { Code } from "../../components/Code.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import styles from "./Connect.module.css";
import type { Setup } from "./setups.ts";

/** The steps of one client's set-up, each with its code. */
export function SetupSteps({ setup: { label, speaks, steps } }: { readonly setup: Setup }) {
  return (
    <section className={panelStyles.panel} aria-labelledby="setup">
      <h2 id="setup">{label}</h2>
      <p className={textStyles.quiet}>It speaks {speaks}.</p>
      <ol className={styles.steps}>
        {steps.map(({ text, code }, index) => (
          <li key={text}>
            <div className={panelStyles.panelHead}>
              <p>{text}</p>
              <CopyButton text={code} what="code" />
            </div>
            <Code label={steps.length === 1 ? "Code" : `Code ${index + 1}`}>{code}</Code>
          </li>
        ))}
      </ol>
    </section>
  );
}
