import { useState } from "react";
import { Button } from "./Button.tsx";
import dialogStyles from "./Dialog.module.css";
import { Dialog } from "./Dialog.tsx";
import formStyles from "./form.module.css";
import listsStyles from "./lists.module.css";
import type { PageLink } from "./pages.ts";
import { COMMAND_KEY } from "./platform.ts";
import { hasKeyShortcuts, setKeyShortcuts } from "./shortcut-setting.ts";

interface ShortcutsDialogProps {
  readonly pages: readonly PageLink[];
  readonly onClose: () => void;
}

/** The list of keyboard shortcuts. */
export function ShortcutsDialog({ pages, onClose }: ShortcutsDialogProps) {
  const [isOn, setOn] = useState(hasKeyShortcuts);
  return (
    <Dialog title="Keyboard shortcuts" onDismiss={onClose}>
      <dl className={listsStyles.facts}>
        {pages.map(({ label, shortcut }) => (
          <div key={label}>
            <dt>
              <kbd>g</kbd> <kbd>{shortcut}</kbd>
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>{COMMAND_KEY}</kbd> <kbd>K</kbd>
          </dt>
          <dd>Search everything</dd>
        </div>
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>Search on this page</dd>
        </div>
        <div>
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>Show keyboard shortcuts</dd>
        </div>
      </dl>
      <label className={formStyles.check}>
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ target }) => {
            setKeyShortcuts(target.checked);
            setOn(target.checked);
          }}
        />
        Use shortcuts without {COMMAND_KEY}
      </label>
      <div className={dialogStyles.dialogActions}>
        <Button look="primary" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
