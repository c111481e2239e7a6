import type { KeyUse } from "../../api/types.ts";

/** The steps of a rotation without downtime, in their order (specification, section 5, rule 7). */
export const ROTATION_STEPS = ["create", "update", "watch", "revoke"] as const;
export type RotationStep = (typeof ROTATION_STEPS)[number];

/** The current step of a rotation, or `done`. */
export function currentStep(old: KeyUse, successor: KeyUse | undefined): RotationStep | "done" {
  if (old.state === "revoked") return "done";
  if (old.rotation === null) return "create";
  if (old.rotation.isIdle) return "revoke";
  return successor === undefined || successor.lastUsedAt === null ? "update" : "watch";
}
