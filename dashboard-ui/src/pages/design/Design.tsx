import { type ReactNode, useState } from "react";
import { Badge } from "../../components/Badge.tsx";
import { Button, IconButton } from "../../components/Button.tsx";
import { Code } from "../../components/Code.tsx";
import { CopyButton } from "../../components/CopyButton.tsx";
import { DataTable, NoRows } from "../../components/DataTable.tsx";
import { EmptyArt, type EmptyKind } from "../../components/EmptyArt.tsx";
import { Field } from "../../components/Field.tsx";
import { FormDialog } from "../../components/FormDialog.tsx";
import { Meter } from "../../components/Meter.tsx";
import { Empty, Notice } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import panelStyles from "../../components/Panel.module.css";
import { PasswordField } from "../../components/PasswordField.tsx";
import { ProviderMark } from "../../components/ProviderMark.tsx";
import { PAGE_ICONS } from "../../components/page-icons.ts";
import { RowMenu } from "../../components/RowMenu.tsx";
import { Segmented } from "../../components/Segmented.tsx";
import { Select } from "../../components/Select.tsx";
import { Skeleton } from "../../components/Skeleton.tsx";
import { Spinner } from "../../components/Spinner.tsx";
import { toast } from "../../components/toast.ts";
import { Ban, Copy, Plus, RefreshCw, Trash2 } from "../../icons/icons.ts";
import styles from "./Design.module.css";

const SIZES = ["tiny", "small", "body", "large", "title", "display"];
const WEIGHTS = ["normal", "medium", "bold"];
const SPACES = ["half", "1", "2", "3", "4", "5", "6", "8"];
const COLOURS = [
  "ink",
  "ink-quiet",
  "ground",
  "side",
  "surface",
  "raised",
  "sunken",
  "line",
  "line-control",
  "line-strong",
  "accent",
  "accent-soft",
  "danger",
  "danger-soft",
  "warning-ink",
  "warning-soft",
  "chart-1",
  "chart-2",
  "chart-3",
  "chart-4",
  "chart-5",
  "chart-6",
  "chart-rest",
];
const SHADOWS = ["shadow-low", "shadow", "shadow-high"];
const RADII = ["radius-small", "radius", "radius-large", "radius-full"];
const PROVIDERS = [
  "openai",
  "anthropic",
  "google",
  "mistral",
  "ollama",
  "azure",
  "bedrock",
  "groq",
  "meta",
  "deepseek",
  "sandbox",
  "other",
];
const DRAWINGS: readonly EmptyKind[] = ["list", "keys", "log", "search", "money", "chat", "models", "people"];
const icon = { size: 16, "aria-hidden": true } as const;

/** Everything that pages are made of. */
export function Design() {
  return (
    <>
      <PageHead title="Design" lead="The values and components that every page is made of." />
      <Part title="Type">
        {SIZES.map((size) => (
          <p key={size} className={styles.line} style={{ fontSize: `var(--text-${size})` }}>
            <code>--text-{size}</code> Requests are logged under this key.
          </p>
        ))}
        {WEIGHTS.map((weight) => (
          <p key={weight} className={styles.line} style={{ fontWeight: `var(--weight-${weight})` }}>
            <code>--weight-{weight}</code> 0123456789 $1,234.56
          </p>
        ))}
      </Part>
      <Part title="Colours">
        <div className={styles.samples}>
          {COLOURS.map((name) => (
            <Sample key={name} name={name} style={{ background: `var(--${name})` }} />
          ))}
        </div>
      </Part>
      <Part title="Spaces, radii and elevation">
        {SPACES.map((name) => (
          <p key={name} className={styles.line}>
            <code>--space-{name}</code>
            <span className={styles.bar} style={{ width: `var(--space-${name})` }} />
          </p>
        ))}
        <div className={styles.samples}>
          {RADII.map((name) => (
            <Sample key={name} name={name} style={{ borderRadius: `var(--${name})` }} />
          ))}
          {SHADOWS.map((name) => (
            <Sample key={name} name={name} style={{ boxShadow: `var(--${name})` }} />
          ))}
        </div>
      </Part>
      <Buttons />
      <Marks />
      <Fields />
      <Feedback />
      <Lists />
    </>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className={panelStyles.panel} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Sample({
  name,
  style,
}: {
  readonly name: string;
  readonly style: Readonly<Record<string, string>>;
}) {
  return (
    <div>
      <div className={styles.sample} style={style} />
      <code>{name}</code>
    </div>
  );
}

function Buttons() {
  return (
    <Part title="Buttons">
      <div className={styles.row}>
        <Button look="primary" icon={<Plus {...icon} />}>
          Primary
        </Button>
        <Button>Plain</Button>
        <Button look="quiet">Quiet</Button>
        <Button look="danger">Danger</Button>
        <Button busy>Busy</Button>
        <Button disabled>Disabled</Button>
        <Button offReason="The account has reached its limit of 50 active keys.">Off, with a reason</Button>
        <Button size="small">Small</Button>
        <IconButton label="Delete" icon={<Trash2 {...icon} />} />
        <IconButton size="small" label="Copy" icon={<Copy {...icon} />} />
        <CopyButton text="text" what="text" />
        <Menu />
      </div>
    </Part>
  );
}

function Menu() {
  return (
    <RowMenu
      of="production"
      parts={[
        [{ label: "Rotate", icon: <RefreshCw {...icon} />, onSelect: () => toast("Key rotated") }],
        [{ label: "Revoke", icon: <Ban {...icon} />, tone: "danger", onSelect: () => toast("Key revoked") }],
      ]}
    />
  );
}

function Marks() {
  return (
    <Part title="Icons, marks and drawings">
      <div className={styles.row}>
        {Object.entries(PAGE_ICONS).map(([path, Icon]) => (
          <Icon key={path} {...icon} />
        ))}
      </div>
      <div className={styles.row}>
        {PROVIDERS.map((name) => (
          <span key={name} className={styles.mark}>
            <ProviderMark name={name} /> {name}
          </span>
        ))}
      </div>
      <div className={styles.row}>
        {DRAWINGS.map((kind) => (
          <EmptyArt key={kind} kind={kind} />
        ))}
      </div>
    </Part>
  );
}

function Fields() {
  const [choice, setChoice] = useState("week");
  return (
    <Part title="Fields">
      <div className={styles.fields}>
        <Field label="Name" hint="Identifies the key in the request log." placeholder="production" />
        <Field label="E-mail" defaultValue="nobody" error="Enter an e-mail address." />
        <Select label="Plan" options={[{ value: "free", label: "Free" }]} />
        <PasswordField label="Password" autoComplete="off" />
      </div>
      <div className={styles.row}>
        <Segmented
          label="Range"
          value={choice}
          options={[
            { value: "day", label: "24 hours" },
            { value: "week", label: "7 days" },
            { value: "month", label: "30 days" },
          ]}
          onChange={setChoice}
        />
        <Badge>revoked</Badge>
        <Badge tone="good">active</Badge>
        <Badge tone="warning">recovering</Badge>
        <Badge tone="bad">404</Badge>
      </div>
    </Part>
  );
}

function Feedback() {
  const [isOpen, setOpen] = useState(false);
  return (
    <Part title="Feedback">
      <Notice tone="warning">This account is suspended. Requests with its keys are refused.</Notice>
      <Notice tone="error">
        <p>The service can't be reached.</p>
        <Button>Try again</Button>
      </Notice>
      <div className={styles.row}>
        <Button onClick={() => toast("Key “production” revoked")}>Show a toast</Button>
        <Button onClick={() => setOpen(true)}>Open a dialog</Button>
        <Spinner />
      </div>
      <Skeleton what="nothing" />
      <Empty title="No keys yet" art="keys">
        <p>Create a key, store it as a secret, and send a request.</p>
        <Button look="primary">Create key</Button>
      </Empty>
      {isOpen ? (
        <FormDialog
          title="Create API key"
          action="Create key"
          isPending={false}
          error={null}
          offReason="Enter a name first."
          onSubmit={() => setOpen(false)}
          onClose={() => setOpen(false)}
        >
          <Field label="Name" />
        </FormDialog>
      ) : null}
    </Part>
  );
}

const ROWS = [
  { name: "production", requests: 12_345 },
  { name: "staging", requests: 67 },
];

function Lists() {
  return (
    <Part title="Lists, meters and code">
      <DataTable
        caption="Keys"
        rows={ROWS}
        rowKey={({ name }) => name}
        columns={[
          { label: "Key", kind: "name", cell: ({ name }) => name },
          { label: "State", cell: () => <Badge tone="good">active</Badge> },
          { label: "Requests", kind: "number", cell: ({ requests }) => requests },
          { label: "Actions", isLabelHidden: true, kind: "actions", cell: () => <Menu /> },
        ]}
      />
      <NoRows>No key matches “prod”.</NoRows>
      <Meter label="Requests per minute" value={12} max={60} text="12 of 60" />
      <Meter label="Active keys" value={48} max={50} text="48 of 50" />
      <Code label="Command" language="bash">
        curl https://gateway.example/v1/models
      </Code>
    </Part>
  );
}
