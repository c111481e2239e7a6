import { Code } from "../../components/Code.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import panelStyles from "../../components/Panel.module.css";
import styles from "./Connect.module.css";
import type { SetupStep } from "./setups.ts";

const COPIED: Readonly<Record<SetupStep["kind"], string>> = {
  install: "install command",
  file: "code",
  command: "command",
};

/** The steps of a client's set-up, each with its code. */
export function SetupSteps({ steps }: { readonly steps: readonly SetupStep[] }) {
  return (
    <ol className={styles.steps}>
      {steps.map(({ kind, text, code }) => (
        <li key={text}>
          <div className={panelStyles.panelHead}>
            <p>{text}</p>
            <CopyButton text={code} what={COPIED[kind]} short />
          </div>
          <Code label={text.replace(/:$/, "")}>{code}</Code>
        </li>
      ))}
    </ol>
  );
}
