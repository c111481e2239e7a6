import { useState } from "react";
import { Field } from "../../components/Field.tsx";

/** The form of the header `x-request-id`, which errors contain too. */
const REQUEST_ID = /req_[0-9a-f]{32}/;

/** Opens the entry of one request, whatever the filters are. */
export function RequestIdField({ onFind }: { readonly onFind: (requestId: string) => void }) {
  const [text, setText] = useState("");
  const [isWrong, setWrong] = useState(false);
  const find = () => {
    const [requestId] = REQUEST_ID.exec(text) ?? [];
    setWrong(requestId === undefined && text.trim() !== "");
    if (requestId === undefined) return;
    setText("");
    onFind(requestId);
  };
  return (
    <Field
      label="Request ID"
      placeholder="req_…"
      spellCheck={false}
      autoComplete="off"
      value={text}
      error={isWrong ? "Enter a request ID: req_ and 32 characters." : undefined}
      onChange={(event) => {
        setText(event.target.value);
        setWrong(false);
      }}
      onPaste={(event) => {
        const [requestId] = REQUEST_ID.exec(event.clipboardData.getData("text")) ?? [];
        if (requestId === undefined) return;
        event.preventDefault();
        onFind(requestId);
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter") find();
      }}
    />
  );
}
