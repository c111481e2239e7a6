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
          <Code label={text.replace(/:$/, "")} language={languageOf(text)}>
            {code}
          </Code>
        </li>
      ))}
    </ol>
  );
}

const LANGUAGES: Readonly<Record<string, string>> = {
  mjs: "typescript",
  py: "python",
  toml: "ini",
  json: "json",
};

/** The language of a step's code: of the file that its text names, or else of the shell. */
function languageOf(text: string): string {
  const [, ending = ""] = /\.(\w+):$/.exec(text) ?? [];
  return LANGUAGES[ending] ?? "bash";
}
