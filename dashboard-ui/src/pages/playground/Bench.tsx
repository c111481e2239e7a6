import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { api, queryClient } from "../../api/client.ts";
import type { ListedKey, ListedModel } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { classes } from "../../components/classes.ts";
import { Empty } from "../../components/Notice.tsx";
import pageHeadStyles from "../../components/PageHead.module.css";
import panelStyles from "../../components/Panel.module.css";
import textStyles from "../../components/text.module.css";
import { AskFailure } from "./AskFailure.tsx";
import styles from "./Bench.module.css";
import { Composer } from "./Composer.tsx";
import { Conversation } from "./Conversation.tsx";
import type { Chat } from "./chat.ts";
import type { ChatState } from "./chat-state.ts";
import { KeyChoice } from "./KeyChoice.tsx";
import { ModelChoice } from "./ModelChoice.tsx";
import { Parameters } from "./Parameters.tsx";
import { PARAMETERS, problemOf } from "./parameters.ts";
import { SystemPrompt } from "./SystemPrompt.tsx";
import { useChosenKey } from "./use-chosen-key.ts";
import { useFollowing } from "./use-following.ts";

/** The programs that send a request are a tenth of the page's script, so they are loaded when they are looked at. */
const ViewAs = lazy(async () => ({ default: (await import("./ViewAs.tsx")).ViewAs }));

interface BenchProps {
  readonly chat: Chat;
  /** The models that support chat. */
  readonly models: readonly ListedModel[];
  /** The active keys. */
  readonly keys: readonly ListedKey[];
}

/** The playground's layout: the request beside the conversation. */
export function Bench({ chat, models, keys }: BenchProps) {
  const state = useSyncExternalStore(chat.subscribe, chat.state);
  const { model: asked } = useSearch({ from: "/shell/account/playground" });
  const [key, chooseKey] = useChosenKey(keys);
  const [problem, setProblem] = useState<string | null>(null);
  const [isViewing, setViewing] = useState(false);
  const composer = useRef<HTMLTextAreaElement>(null);
  const talk = useRef<HTMLElement>(null);
  const follow = useFollowing(talk);

  const model = findModel(models, asked ?? state.model) ?? (asked === undefined ? models[0] : undefined);
  const modelId = model?.id ?? null;
  useEffect(() => {
    if (modelId !== null) chat.set({ model: modelId });
  }, [chat, modelId]);

  const ask = (act: (model: string, keyUuid: string) => Promise<void>) => {
    const wrong = problemWith(state, model, key);
    setProblem(wrong);
    if (wrong !== null || model === undefined || key === undefined) return;
    follow();
    void act(model.id, key.id).finally(() => {
      // The request has changed the key's last use, and a refused key may be revoked.
      void queryClient.invalidateQueries({ queryKey: api.keys.list.queryKey() });
    });
  };
  const askAgain = () => ask((...as) => chat.sendAgain(...as));
  const backToComposer = () => composer.current?.focus({ preventScroll: true });
  const isNew = state.messages.length === 0;

  return (
    <div className={styles.playground}>
      <RequestPanel
        chat={chat}
        state={state}
        models={models}
        model={model}
        asked={asked}
        keys={keys}
        apiKey={key}
        chooseKey={chooseKey}
      />
      <section className={styles.talk} ref={talk} aria-labelledby="conversation">
        <div className={panelStyles.panelHead}>
          <h2 id="conversation">Conversation</h2>
          <TalkActions
            canView={model !== undefined}
            canClear={!isNew}
            view={() => setViewing(true)}
            clear={() => {
              chat.clear();
              backToComposer();
            }}
          />
        </div>
        {isNew && state.failure === null ? (
          <Empty title="Send a message to start" art="chat">
            <p>The answer appears here with its tokens, time and cost.</p>
          </Empty>
        ) : (
          <Conversation
            messages={state.messages}
            isRunning={state.isRunning}
            edit={(id, role, text) => chat.edit(id, role, text)}
            remove={(id) => {
              chat.remove(id);
              backToComposer();
            }}
            askAgain={askAgain}
          />
        )}
        {state.failure === null ? null : <AskFailure failure={state.failure} askAgain={askAgain} />}
        <p className={textStyles.visuallyHidden} role="status">
          {state.announcement}
        </p>
        <Composer
          ref={composer}
          draft={state.draft}
          isRunning={state.isRunning}
          problem={problem}
          removal={state.removal}
          onChange={(draft) => {
            setProblem(null);
            chat.set({ draft });
          }}
          send={() => ask((...as) => chat.send(...as))}
          add={() => chat.add()}
          stop={() => {
            chat.stop();
            backToComposer();
          }}
          putBack={() => {
            chat.putBack();
            backToComposer();
          }}
        />
      </section>
      {isViewing && model !== undefined ? (
        <Suspense>
          <ViewAs state={state} model={model.id} onClose={() => setViewing(false)} />
        </Suspense>
      ) : null}
    </div>
  );
}

interface RequestPanelProps extends BenchProps {
  readonly state: ChatState;
  readonly model: ListedModel | undefined;
  /** The model that the address names. */
  readonly asked: string | undefined;
  readonly apiKey: ListedKey | undefined;
  readonly chooseKey: (id: string) => void;
}

function RequestPanel({ chat, state, models, model, asked, keys, apiKey, chooseKey }: RequestPanelProps) {
  const navigate = useNavigate({ from: "/playground" });
  return (
    <section className={classes(panelStyles.panel, styles.setup)} aria-labelledby="request">
      <h2 id="request">Request</h2>
      <ModelChoice
        models={models}
        value={model ?? null}
        missing={model === undefined ? (asked ?? null) : null}
        onChange={({ id }) => {
          void navigate({ search: { model: id }, replace: true, resetScroll: false });
        }}
      />
      <KeyChoice keys={keys} value={apiKey} onChange={chooseKey} />
      <SystemPrompt value={state.system} onChange={(system) => chat.set({ system })} />
      <Parameters
        texts={state.parameters}
        stream={state.stream}
        onChange={(parameters) => chat.set({ parameters })}
        onStreamChange={(stream) => chat.set({ stream })}
      />
    </section>
  );
}

interface TalkActionsProps {
  readonly canView: boolean;
  readonly canClear: boolean;
  readonly view: () => void;
  readonly clear: () => void;
}

function TalkActions({ canView, canClear, view, clear }: TalkActionsProps) {
  return (
    <div className={pageHeadStyles.pageActions}>
      <Button disabled={!canView} onClick={view}>
        View as code
      </Button>
      <Button disabled={!canClear} onClick={clear}>
        Clear
      </Button>
    </div>
  );
}

/** Finds a model by id or alias, as the service does. */
function findModel(models: readonly ListedModel[], name: string | null): ListedModel | undefined {
  if (name === null) return undefined;
  return models.find(({ id }) => id === name) ?? models.find(({ aliases }) => aliases.includes(name));
}

/** The reason why the request cannot be sent. */
function problemWith(
  state: ChatState,
  model: ListedModel | undefined,
  key: ListedKey | undefined,
): string | null {
  if (model === undefined) return "Choose a model first.";
  if (key === undefined) return "Create a key first.";
  if ([...state.messages, state.draft].every(({ text }) => text.trim() === ""))
    return "Write a message first.";
  const wrong = PARAMETERS.find((parameter) => problemOf(parameter, state.parameters) !== undefined);
  return wrong === undefined ? null : `${wrong.name}: ${problemOf(wrong, state.parameters)}`;
}
