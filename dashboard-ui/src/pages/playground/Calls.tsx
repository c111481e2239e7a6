import { useId } from "react";
import { Button } from "../../components/Button.tsx";
import type { ToolCall } from "./answer.ts";
import styles from "./Calls.module.css";
import { CodeBlock } from "./CodeBlock.tsx";
import type { CalledTool } from "./chat-state.ts";
import { format, parseJson } from "./tools.ts";

interface CallsProps {
  /** The tool calls of an answer that is complete. */
  readonly calls: readonly CalledTool[];
  readonly setResult: (callIndex: number, result: string) => void;
  /** Sends the results; `null` where messages follow or an answer is underway. */
  readonly resume: (() => void) | null;
}

/** The tool calls of an answer, and fields for their results. */
export function Calls({ calls, setResult, resume }: CallsProps) {
  return (
    <div className={styles.calls}>
      {calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tool calls keep their positions
        <Call key={index} call={call} setResult={(result) => setResult(index, result)} />
      ))}
      {resume === null ? null : (
        <div>
          <Button look="primary" disabled={calls.some(({ result }) => result === null)} onClick={resume}>
            {calls.length === 1 ? "Send result" : "Send results"}
          </Button>
        </div>
      )}
    </div>
  );
}

interface CallProps {
  readonly call: CalledTool;
  readonly setResult: (result: string) => void;
}

function Call({ call, setResult }: CallProps) {
  const id = useId();
  return (
    <div className={styles.call}>
      <CallHead call={call} />
      <label htmlFor={id}>Result of {call.name}</label>
      <textarea
        id={id}
        rows={1}
        placeholder='What the tool returns, such as {"degrees": 21}'
        spellCheck={false}
        value={call.result ?? ""}
        onChange={({ target }) => setResult(target.value)}
      />
    </div>
  );
}

/** Tool calls that arrive. */
export function ArrivingCalls({ calls }: { readonly calls: readonly ToolCall[] }) {
  if (calls.length === 0) return null;
  return (
    <div className={styles.calls}>
      {calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: tool calls keep their positions
        <div key={index} className={styles.call}>
          <CallHead call={call} />
        </div>
      ))}
    </div>
  );
}

function CallHead({ call }: { readonly call: ToolCall }) {
  const read = parseJson(call.arguments);
  return (
    <>
      <p>
        Calls <code>{call.name}</code>
      </p>
      <CodeBlock code={"value" in read ? format(read.value) : call.arguments} language="json" />
    </>
  );
}
