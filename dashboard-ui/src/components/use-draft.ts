import { useState } from "react";

/** The typed text. It resets when the value changes elsewhere: by going back, or by clearing the filters. */
export function useDraft(value: string): readonly [string, (text: string) => void] {
  const [draft, setDraft] = useState({ of: value, text: value });
  if (draft.of !== value) setDraft({ of: value, text: value });
  return [draft.of === value ? draft.text : value, (text) => setDraft({ of: value, text })];
}
