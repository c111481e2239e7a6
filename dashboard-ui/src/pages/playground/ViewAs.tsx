import { useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { Answer } from "../../components/Answer.tsx";
import { Button } from "../../components/Button.tsx";
import dialogStyles from "../../components/Dialog.module.css";
import { Dialog } from "../../components/Dialog.tsx";
import { Snippets } from "../../components/Snippets.tsx";
import { bodyOf, type ChatBody, type ChatState } from "./chat-state.ts";

interface ViewAsProps {
  readonly state: ChatState;
  readonly model: string;
  readonly onClose: () => void;
}

/** The current request as code. */
export function ViewAs({ state, model, onClose }: ViewAsProps) {
  const info = useQuery(api.service.info.queryOptions());
  return (
    <Dialog title="Request as code" onDismiss={onClose}>
      <Answer query={info} what="the code">
        {(service) => <Snippets service={service} request={withMessage(bodyOf(state, model))} />}
      </Answer>
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
