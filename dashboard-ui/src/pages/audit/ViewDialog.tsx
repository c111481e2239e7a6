import { type SubmitEvent, useState } from "react";
import { Button } from "../../components/Button.tsx";
import dialogStyles from "../../components/Dialog.module.css";
import { Dialog } from "../../components/Dialog.tsx";
import { Field } from "../../components/Field.tsx";
import formStyles from "../../components/form.module.css";
import textStyles from "../../components/text.module.css";
import { toast } from "../../components/toast.ts";
import { COLUMN_NAMES, COLUMNS, type Column, withColumn } from "./columns.ts";
import { MAX_NAME_LENGTH, MAX_VIEWS, type SavedView, withView } from "./saved-views.ts";
import type { AuditSearch } from "./search.ts";
import type { ChangeViews } from "./use-view.ts";
import styles from "./ViewDialog.module.css";

interface ViewDialogProps {
  readonly columns: readonly Column[];
  readonly setColumns: (columns: readonly Column[]) => void;
  readonly views: readonly SavedView[];
  readonly changeViews: ChangeViews;
  readonly search: AuditSearch;
  readonly onClose: () => void;
}

/** The choice of columns, and the saved views. Both are kept in this browser. */
export function ViewDialog({ columns, setColumns, views, changeViews, search, onClose }: ViewDialogProps) {
  const [name, setName] = useState("");
  const [isFull, setFull] = useState(false);
  const save = (event: SubmitEvent) => {
    event.preventDefault();
    const wanted = name.trim();
    if (wanted === "") return;
    // One of the same name is replaced. Another one would take the place of the oldest.
    const hasSpace = views.length < MAX_VIEWS || views.some((view) => view.name === wanted);
    setFull(!hasSpace);
    if (!hasSpace) return;
    changeViews((now) => withView(now, { name: wanted, search }));
    setName("");
    toast(`View “${wanted}” saved`);
  };
  return (
    <Dialog title="View" onDismiss={onClose}>
      <fieldset className={styles.columns}>
        <legend>Columns</legend>
        {COLUMNS.map((column) => (
          <label key={column} className={formStyles.check}>
            <input
              type="checkbox"
              checked={columns.includes(column)}
              onChange={({ target }) => setColumns(withColumn(columns, column, target.checked))}
            />
            {COLUMN_NAMES[column]}
          </label>
        ))}
      </fieldset>
      <section className={styles.views} aria-labelledby="saved-views">
        <h3 id="saved-views">Saved views</h3>
        {views.length === 0 ? (
          <p className={textStyles.small}>Save the current filters to return to them in one click.</p>
        ) : (
          <ul>
            {views.map((view) => (
              <li key={view.name}>
                <span className={textStyles.cut}>{view.name}</span>
                <Button
                  aria-label={`Delete ${view.name}`}
                  onClick={() => {
                    changeViews((now) => now.filter((other) => other.name !== view.name));
                    setFull(false);
                    toast(`View “${view.name}” deleted`);
                  }}
                >
                  Delete
                </Button>
              </li>
            ))}
          </ul>
        )}
        <form onSubmit={save} className={formStyles.inlineForm}>
          <Field
            label="Save current filters as"
            value={name}
            maxLength={MAX_NAME_LENGTH}
            autoComplete="off"
            error={isFull ? `There are ${MAX_VIEWS} saved views. Delete one first.` : undefined}
            onChange={({ target }) => setName(target.value)}
          />
          <Button type="submit">Save view</Button>
        </form>
      </section>
      <p className={textStyles.small}>
        Columns and views are kept in this browser. To share filters, share the page's address.
      </p>
      <div className={dialogStyles.dialogActions}>
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}
