import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { Button } from "../../components/Button.tsx";
import dialogStyles from "../../components/Dialog.module.css";
import { Dialog } from "../../components/Dialog.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import { Snippets } from "../../components/Snippets.tsx";
import textStyles from "../../components/text.module.css";
import { bodyOf, type ChatBody, type ChatState, type Lane, messagesWithDraft } from "./chat-state.ts";
import { outputOf } from "./model-output.ts";
import { shortened } from "./shorten-data.ts";

interface ViewAsProps {
  readonly state: ChatState;
  /** The conversation whose next request is shown. */
  readonly lane: Lane;
  readonly model: string;
  readonly onClose: () => void;
}

/** The current request as code. */
export function ViewAs({ state, lane, model, onClose }: ViewAsProps) {
  const info = useQuery(api.service.info.queryOptions());
  const { body, isShortened } = shortened(
    withMessage(bodyOf(state, messagesWithDraft(state, lane), model, outputOf(model))),
  );
  return (
    <Dialog title="Request as code" onDismiss={onClose}>
      <Loaded query={info} what="the code">
        {(service) => <Snippets service={service} request={body} />}
      </Loaded>
      {isShortened ? (
        <p className={textStyles.small}>Attachments are shortened. Put your own data in the place of “…”.</p>
      ) : null}
      <div className={dialogStyles.dialogActions}>
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

/** Adds a message to an empty conversation, so that the code runs. */
function withMessage(body: ChatBody): ChatBody {
  const isAsked = body.messages.some(({ role }) => role !== "system");
  return isAsked ? body : { ...body, messages: [...body.messages, { role: "user", content: "Hello!" }] };
}
