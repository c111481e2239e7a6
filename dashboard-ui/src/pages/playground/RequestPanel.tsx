import { useState, useSyncExternalStore } from "react";
import type { ListedKey, ListedModel } from "../../api/types.ts";
import { classes } from "../../components/classes.ts";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import type { Chat } from "./chat.ts";
import type { ChatState } from "./chat-state.ts";
import { KeyChoice } from "./KeyChoice.tsx";
import { ModelChoices } from "./ModelChoices.tsx";
import { OutputChoice } from "./OutputChoice.tsx";
import { Parameters } from "./Parameters.tsx";
import styles from "./RequestPanel.module.css";
import { SystemPrompt } from "./SystemPrompt.tsx";
import { ToolList } from "./ToolList.tsx";

/** The minimum width at which the request fits beside the conversation. */
const ROOMY = matchMedia("(width > 75em)");

interface RequestPanelProps {
  readonly chat: Chat;
  readonly state: ChatState;
  readonly models: readonly ListedModel[];
  /** The first lane's model. */
  readonly model: ListedModel | undefined;
  /** The model that was requested but does not exist. */
  readonly missing: string | null;
  readonly chooseFirst: (modelId: string) => void;
  readonly keys: readonly ListedKey[];
  readonly hasMoreKeys: boolean;
  readonly apiKey: ListedKey | undefined;
  readonly chooseKey: (id: string) => void;
}

/** The request's settings: beside the conversation, or on narrow screens a line above it that opens. */
export function RequestPanel(props: RequestPanelProps) {
  const { state, model, apiKey } = props;
  const isRoomy = useSyncExternalStore(onRoomChange, () => ROOMY.matches);
  const isAsking = model === undefined || apiKey === undefined;
  const [isOpen, setOpen] = useState(isAsking);
  if (isRoomy) {
    return (
      <section className={classes(panelStyles.panel, styles.panel)} aria-labelledby="request">
        <h2 id="request">Request</h2>
        <Settings {...props} />
      </section>
    );
  }
  const models = state.lanes.map((lane, index) => (index === 0 ? model?.id : lane.model) ?? "no model");
  return (
    <details
      className={classes(panelStyles.panel, styles.panel)}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        Request{" "}
        <span className={textStyles.small}>
          {models.join(", ")} · {apiKey === undefined ? "no key" : `key ${apiKey.name}`}
        </span>
      </summary>
      <Settings {...props} />
    </details>
  );
}

function Settings({
  chooseFirst,
  chat,
  state,
  models,
  model,
  missing,
  keys,
  hasMoreKeys,
  apiKey,
  chooseKey,
}: RequestPanelProps) {
  return (
    <>
      <ModelChoices
        chat={chat}
        models={models}
        lanes={state.lanes}
        first={model}
        missing={missing}
        chooseFirst={({ id }) => {
          chooseFirst(id);
        }}
      />
      <KeyChoice keys={keys} hasMore={hasMoreKeys} value={apiKey} onChange={chooseKey} />
      <SystemPrompt value={state.system} onChange={(system) => chat.set({ system })} />
      <OutputChoice value={state.format} onChange={(format) => chat.set({ format })} />
      <ToolList
        tools={state.tools}
        choice={state.toolChoice}
        onChange={(tools) => chat.set({ tools })}
        onChoose={(toolChoice) => chat.set({ toolChoice })}
      />
      <Parameters
        texts={state.parameters}
        stream={state.stream}
        onChange={(parameters) => chat.set({ parameters })}
        onStreamChange={(stream) => chat.set({ stream })}
      />
      <p className={textStyles.small}>
        Format: Chat Completions, <code>POST /v1/chat/completions</code>. View as code has every format.
      </p>
    </>
  );
}

function onRoomChange(listener: () => void): () => void {
  ROOMY.addEventListener("change", listener);
  return () => ROOMY.removeEventListener("change", listener);
}
