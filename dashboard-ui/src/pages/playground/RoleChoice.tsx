import { Segmented } from "../../components/Segmented.tsx";
import type { Role } from "./chat-state.ts";

const ROLE_OPTIONS: readonly { readonly value: Role; readonly label: string }[] = [
  { value: "user", label: "User" },
  { value: "assistant", label: "Assistant" },
];

interface RoleChoiceProps {
  readonly value: Role;
  readonly onChange: (role: Role) => void;
}

/** The choice of a message's role. */
export function RoleChoice({ value, onChange }: RoleChoiceProps) {
  return <Segmented label="Role" value={value} options={ROLE_OPTIONS} onChange={onChange} />;
}
